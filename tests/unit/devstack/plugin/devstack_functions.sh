# SPDX-License-Identifier: Apache-2.0
# Stand-ins for the functions of OpenStack's DevStack that a plugin calls. What would change the machine is written
# to $CALLS, a line for each call; configuration files and directories are really written.
# shellcheck shell=bash disable=SC2034,SC2154

log_call() {
    echo "$*" >> "$CALLS"
}

for name in create_service_user define_plugin get_or_create_endpoint get_or_create_service install_package \
    pip_install_gr rabbit_setuser rpc_backend_add_vhost run_process start_tls_proxy stop_process; do
    eval "$name() { log_call $name \"\$@\"; }"
done

echo_summary() {
    echo "$*"
}

die() {
    shift
    echo "$*" >&2
    exit 1
}

# Repeated sections and options are legal for oslo.config, which takes the last value.
iniset() {
    printf '[%s]\n%s = %s\n' "$2" "$3" "$4" >> "$1"
}

is_service_enabled() {
    local service
    for service in "$@"; do
        [[ ",$ENABLED_SERVICES," == *",$service,"* ]] && return 0
    done
    return 1
}

enable_service() {
    local service
    for service in "$@"; do
        is_service_enabled "$service" || ENABLED_SERVICES+=",$service"
    done
}

disable_service() {
    local service list
    for service in "$@"; do
        list=",$ENABLED_SERVICES,"
        list=${list//,$service,/,}
        list=${list#,}
        ENABLED_SERVICES=${list%,}
    done
}

configure_keystone_authtoken_middleware() {
    iniset "$1" keystone_authtoken auth_type password
    iniset "$1" keystone_authtoken auth_url http://192.0.2.1/identity
    iniset "$1" keystone_authtoken username "$2"
    iniset "$1" keystone_authtoken password "$SERVICE_PASSWORD"
}

get_transport_url() {
    echo "rabbit://stackrabbit:$SERVICE_PASSWORD@192.0.2.1:5672/$1"
}

database_connection_url() {
    echo "mysql+pymysql://root:$SERVICE_PASSWORD@127.0.0.1/$1?charset=utf8"
}

wait_for_service() {
    log_call wait_for_service "$@"
    [[ "$API_ANSWERS" == True ]]
}

sudo() {
    case "$1" in
        install | rm) "$@" ;;
        *) log_call "$@" ;;
    esac
}

python3() {
    log_call python3 "$@"
}
