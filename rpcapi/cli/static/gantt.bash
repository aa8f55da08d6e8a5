# Completion of gantt for bash. Load it with: source <(gantt complete bash)

# Words that may follow the words of a command.
_gantt_words() {
    case "$1" in
        "") _gantt_reply="--version -v --verbose -q --quiet --log-file -h --help --debug --config-file --project aggregate audit boot claim client complete decision events explain filter flavor group help host image migration partition quota server service state weigher" ;;
        "aggregate") _gantt_reply="delete list set show unset" ;;
        "aggregate delete") _gantt_reply="-h --help" ;;
        "aggregate list") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending --host" ;;
        "aggregate set") _gantt_reply="-h --help --host --name --zone" ;;
        "aggregate show") _gantt_reply="-h --help -f --format -c --column --noindent --max-width --fit-width --print-empty --variable --prefix" ;;
        "aggregate unset") _gantt_reply="-h --help --host" ;;
        "audit") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending --pause --nova --fix --yes --end --timeout" ;;
        "boot") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending --count --name --uuid --wait --timeout --progress --flavor --image --property --volume --port --az --trait --member-of --not-member-of --in-tree --hint --host --not-host --group --group-policy --group-max-per-host --driver" ;;
        "claim") _gantt_reply="list show verify" ;;
        "claim list") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending --host --consumer --partition" ;;
        "claim show") _gantt_reply="-h --help -f --format -c --column --noindent --max-width --fit-width --print-empty --variable --prefix" ;;
        "claim verify") _gantt_reply="-h --help -f --format -c --column --noindent --max-width --fit-width --print-empty --variable --prefix --partition" ;;
        "client") _gantt_reply="enroll revoke" ;;
        "client enroll") _gantt_reply="-h --help --broker-file" ;;
        "client revoke") _gantt_reply="-h --help --broker-file" ;;
        "complete") _gantt_reply="-h --help bash zsh" ;;
        "decision") _gantt_reply="compare export" ;;
        "decision compare") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending --partition" ;;
        "decision export") _gantt_reply="-h --help --output --partition" ;;
        "events") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending --after --kind --once --interval --partition" ;;
        "explain") _gantt_reply="-h --help -f --format -c --column --noindent --max-width --fit-width --print-empty --variable --prefix --dry-run --count --flavor --image --property --volume --port --az --trait --member-of --not-member-of --in-tree --hint --host --not-host --group --group-policy --group-max-per-host --driver" ;;
        "filter") _gantt_reply="list" ;;
        "filter list") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending --all" ;;
        "flavor") _gantt_reply="create delete import list show" ;;
        "flavor create") _gantt_reply="-h --help --property --replace --vcpus --ram --disk" ;;
        "flavor delete") _gantt_reply="-h --help" ;;
        "flavor import") _gantt_reply="-h --help --dry-run" ;;
        "flavor list") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending" ;;
        "flavor show") _gantt_reply="-h --help -f --format -c --column --noindent --max-width --fit-width --print-empty --variable --prefix" ;;
        "group") _gantt_reply="list show" ;;
        "group list") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending" ;;
        "group show") _gantt_reply="-h --help -f --format -c --column --noindent --max-width --fit-width --print-empty --variable --prefix" ;;
        "host") _gantt_reply="disable drain enable enroll evacuate fence list remove replace revoke show" ;;
        "host disable") _gantt_reply="-h --help --reason" ;;
        "host drain") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending --live --cold --parallel --timeout --progress" ;;
        "host enable") _gantt_reply="-h --help" ;;
        "host enroll") _gantt_reply="-h --help --broker-file" ;;
        "host evacuate") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending --parallel --timeout --progress" ;;
        "host fence") _gantt_reply="-h --help --force --yes" ;;
        "host list") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending --az --down --partition" ;;
        "host remove") _gantt_reply="-h --help" ;;
        "host replace") _gantt_reply="-h --help --force --yes" ;;
        "host revoke") _gantt_reply="-h --help --broker-file --yes" ;;
        "host show") _gantt_reply="-h --help -f --format -c --column --noindent --max-width --fit-width --print-empty --variable --prefix" ;;
        "image") _gantt_reply="create delete import list show" ;;
        "image create") _gantt_reply="-h --help --property --replace --id --disk-format --min-ram --min-disk" ;;
        "image delete") _gantt_reply="-h --help" ;;
        "image import") _gantt_reply="-h --help --dry-run" ;;
        "image list") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending" ;;
        "image show") _gantt_reply="-h --help -f --format -c --column --noindent --max-width --fit-width --print-empty --variable --prefix" ;;
        "migration") _gantt_reply="abort force-complete list show" ;;
        "migration abort") _gantt_reply="-h --help" ;;
        "migration force-complete") _gantt_reply="-h --help" ;;
        "migration list") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending --server --host --status" ;;
        "migration show") _gantt_reply="-h --help -f --format -c --column --noindent --max-width --fit-width --print-empty --variable --prefix" ;;
        "partition") _gantt_reply="acknowledge list" ;;
        "partition acknowledge") _gantt_reply="-h --help" ;;
        "partition list") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending" ;;
        "quota") _gantt_reply="show" ;;
        "quota show") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending" ;;
        "server") _gantt_reply="adopt boot confirm delete evacuate list live-migrate migrate offload reboot rebuild resize revert shelve show start stop unshelve" ;;
        "server adopt") _gantt_reply="-h --help --delete --wait --timeout --progress" ;;
        "server boot") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending --count --name --uuid --wait --timeout --progress --flavor --image --property --volume --port --az --trait --member-of --not-member-of --in-tree --hint --host --not-host --group --group-policy --group-max-per-host --driver" ;;
        "server confirm") _gantt_reply="-h --help --group --wait --timeout --progress" ;;
        "server delete") _gantt_reply="-h --help --wait --timeout --progress" ;;
        "server evacuate") _gantt_reply="-h --help --wait --timeout --progress --host" ;;
        "server list") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending --host --status --request --limit --deleted --watch --interval" ;;
        "server live-migrate") _gantt_reply="-h --help --group --wait --timeout --progress --host" ;;
        "server migrate") _gantt_reply="-h --help --group --wait --timeout --progress --allow-cross-cell --host" ;;
        "server offload") _gantt_reply="-h --help --wait --timeout --progress" ;;
        "server reboot") _gantt_reply="-h --help --wait --timeout --progress --hard" ;;
        "server rebuild") _gantt_reply="-h --help --wait --timeout --progress --image" ;;
        "server resize") _gantt_reply="-h --help --group --wait --timeout --progress --allow-cross-cell --flavor" ;;
        "server revert") _gantt_reply="-h --help --group --wait --timeout --progress" ;;
        "server shelve") _gantt_reply="-h --help --wait --timeout --progress" ;;
        "server show") _gantt_reply="-h --help -f --format -c --column --noindent --max-width --fit-width --print-empty --variable --prefix" ;;
        "server start") _gantt_reply="-h --help --wait --timeout --progress" ;;
        "server stop") _gantt_reply="-h --help --wait --timeout --progress" ;;
        "server unshelve") _gantt_reply="-h --help --wait --timeout --progress --host" ;;
        "service") _gantt_reply="list" ;;
        "service list") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending --partition" ;;
        "state") _gantt_reply="delete list set show" ;;
        "state delete") _gantt_reply="-h --help --writer" ;;
        "state list") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending --host --match --partition" ;;
        "state set") _gantt_reply="-h --help --writer" ;;
        "state show") _gantt_reply="-h --help -f --format -c --column --noindent --max-width --fit-width --print-empty --variable --prefix" ;;
        "weigher") _gantt_reply="list" ;;
        "weigher list") _gantt_reply="-h --help -f --format -c --column --quote --noindent --max-width --fit-width --print-empty --sort-column --sort-ascending --sort-descending --all" ;;
        *) _gantt_reply=""; return 1 ;;
    esac
}

# Values of the options of commands that have a fixed set of values.
_gantt_values() {
    case "$1" in
        "aggregate list --format") _gantt_reply="csv json table value yaml" ;;
        "aggregate list --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "aggregate list -f") _gantt_reply="csv json table value yaml" ;;
        "aggregate show --format") _gantt_reply="json shell table value yaml" ;;
        "aggregate show -f") _gantt_reply="json shell table value yaml" ;;
        "audit --format") _gantt_reply="csv json table value yaml" ;;
        "audit --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "audit -f") _gantt_reply="csv json table value yaml" ;;
        "boot --format") _gantt_reply="csv json table value yaml" ;;
        "boot --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "boot -f") _gantt_reply="csv json table value yaml" ;;
        "claim list --format") _gantt_reply="csv json table value yaml" ;;
        "claim list --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "claim list -f") _gantt_reply="csv json table value yaml" ;;
        "claim show --format") _gantt_reply="json shell table value yaml" ;;
        "claim show -f") _gantt_reply="json shell table value yaml" ;;
        "claim verify --format") _gantt_reply="json shell table value yaml" ;;
        "claim verify -f") _gantt_reply="json shell table value yaml" ;;
        "decision compare --format") _gantt_reply="csv json table value yaml" ;;
        "decision compare --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "decision compare -f") _gantt_reply="csv json table value yaml" ;;
        "events --format") _gantt_reply="csv json table value yaml" ;;
        "events --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "events -f") _gantt_reply="csv json table value yaml" ;;
        "explain --format") _gantt_reply="json shell table value yaml" ;;
        "explain -f") _gantt_reply="json shell table value yaml" ;;
        "filter list --format") _gantt_reply="csv json table value yaml" ;;
        "filter list --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "filter list -f") _gantt_reply="csv json table value yaml" ;;
        "flavor list --format") _gantt_reply="csv json table value yaml" ;;
        "flavor list --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "flavor list -f") _gantt_reply="csv json table value yaml" ;;
        "flavor show --format") _gantt_reply="json shell table value yaml" ;;
        "flavor show -f") _gantt_reply="json shell table value yaml" ;;
        "group list --format") _gantt_reply="csv json table value yaml" ;;
        "group list --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "group list -f") _gantt_reply="csv json table value yaml" ;;
        "group show --format") _gantt_reply="json shell table value yaml" ;;
        "group show -f") _gantt_reply="json shell table value yaml" ;;
        "host drain --format") _gantt_reply="csv json table value yaml" ;;
        "host drain --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "host drain -f") _gantt_reply="csv json table value yaml" ;;
        "host evacuate --format") _gantt_reply="csv json table value yaml" ;;
        "host evacuate --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "host evacuate -f") _gantt_reply="csv json table value yaml" ;;
        "host list --format") _gantt_reply="csv json table value yaml" ;;
        "host list --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "host list -f") _gantt_reply="csv json table value yaml" ;;
        "host show --format") _gantt_reply="json shell table value yaml" ;;
        "host show -f") _gantt_reply="json shell table value yaml" ;;
        "image list --format") _gantt_reply="csv json table value yaml" ;;
        "image list --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "image list -f") _gantt_reply="csv json table value yaml" ;;
        "image show --format") _gantt_reply="json shell table value yaml" ;;
        "image show -f") _gantt_reply="json shell table value yaml" ;;
        "migration list --format") _gantt_reply="csv json table value yaml" ;;
        "migration list --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "migration list -f") _gantt_reply="csv json table value yaml" ;;
        "migration show --format") _gantt_reply="json shell table value yaml" ;;
        "migration show -f") _gantt_reply="json shell table value yaml" ;;
        "partition list --format") _gantt_reply="csv json table value yaml" ;;
        "partition list --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "partition list -f") _gantt_reply="csv json table value yaml" ;;
        "quota show --format") _gantt_reply="csv json table value yaml" ;;
        "quota show --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "quota show -f") _gantt_reply="csv json table value yaml" ;;
        "server boot --format") _gantt_reply="csv json table value yaml" ;;
        "server boot --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "server boot -f") _gantt_reply="csv json table value yaml" ;;
        "server list --format") _gantt_reply="csv json table value yaml" ;;
        "server list --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "server list -f") _gantt_reply="csv json table value yaml" ;;
        "server show --format") _gantt_reply="json shell table value yaml" ;;
        "server show -f") _gantt_reply="json shell table value yaml" ;;
        "service list --format") _gantt_reply="csv json table value yaml" ;;
        "service list --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "service list -f") _gantt_reply="csv json table value yaml" ;;
        "state list --format") _gantt_reply="csv json table value yaml" ;;
        "state list --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "state list -f") _gantt_reply="csv json table value yaml" ;;
        "state show --format") _gantt_reply="json shell table value yaml" ;;
        "state show -f") _gantt_reply="json shell table value yaml" ;;
        "weigher list --format") _gantt_reply="csv json table value yaml" ;;
        "weigher list --quote") _gantt_reply="all minimal none nonnumeric" ;;
        "weigher list -f") _gantt_reply="csv json table value yaml" ;;
        *) _gantt_reply=""; return 1 ;;
    esac
}

_gantt() {
    local current="${COMP_WORDS[COMP_CWORD]}" command="" index next _gantt_reply
    for ((index = 1; index < COMP_CWORD; index++)); do
        next="${command:+$command }${COMP_WORDS[index]}"
        _gantt_words "$next" && command="$next"
    done
    _gantt_values "$command ${COMP_WORDS[COMP_CWORD-1]}" || _gantt_words "$command"
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$_gantt_reply" -- "$current"))
    else
        COMPREPLY=($(compgen -X '-*' -W "$_gantt_reply" -- "$current"))
    fi
}
complete -o default -F _gantt gantt
