# SPDX-License-Identifier: Apache-2.0
# gantt's plugin for OpenStack's DevStack: gantt in the place of nova-scheduler and Placement.
#
# DevStack sources it with the arguments MODE [PHASE]: its contract is doc/source/plugins.rst there. It is called by
# stack.sh (pre-install, install, post-config, extra, test-config), unstack.sh and clean.sh. Settings: devstack/settings.
# shellcheck shell=bash disable=SC2154

_XTRACE_GANTT=$(set +o | grep xtrace)
set +o xtrace

GANTT_SERVICES="gantt-scheduler gantt-nova-bridge gantt-placement gantt-store"

function check_gantt {
    if is_service_enabled placement-api || is_service_enabled n-sch; then
        die $LINENO "gantt is in the place of placement-api and n-sch: do not enable them after the plugin gantt"
    fi
    if ! is_service_enabled rabbit; then
        die $LINENO "gantt-scheduler answers Nova on RabbitMQ: enable the service rabbit"
    fi
}

function install_gantt {
    install_package redis-server
    python3 -m venv "$GANTT_VENV"
    "$GANTT_VENV/bin/pip" install --quiet "${GANTT_DIR}[scheduler,placement]"
    pip_install_gr osc-placement
}

# gantt_placement_url - The address of the API in Keystone's catalogue
function gantt_placement_url {
    local protocol=http
    if is_service_enabled tls-proxy; then
        protocol=https
    fi
    echo "$protocol://$SERVICE_HOST:$GANTT_PLACEMENT_PORT"
}

# create_gantt_conf NAME - Begin a configuration file with what all services have; print its path
function create_gantt_conf {
    local conf=$GANTT_CONF_DIR/$1.conf
    install -m 0600 /dev/null "$conf"
    iniset "$conf" DEFAULT debug "$ENABLE_DEBUG_LOG_LEVEL"
    iniset "$conf" rpc partition "$GANTT_PARTITION"
    echo "$conf"
}

function configure_gantt_store {
    install -d -m 0700 "$GANTT_DATA_DIR"
    # The password is in a file: arguments are visible to all users.
    install -m 0600 /dev/null "$GANTT_CONF_DIR/redis.conf"
    cat > "$GANTT_CONF_DIR/redis.conf" <<EOF
bind 127.0.0.1
port $GANTT_STORE_PORT
dir $GANTT_DATA_DIR
appendonly yes
appendfsync everysec
requirepass $GANTT_STORE_PASSWORD
EOF
}

function gantt_store_url {
    echo "redis://:$GANTT_STORE_PASSWORD@127.0.0.1:$GANTT_STORE_PORT/0"
}

# gantt_bus_url USER - The address of gantt's own bus for one of its users
function gantt_bus_url {
    echo "rabbit://$1:$SERVICE_PASSWORD@$RABBIT_HOST:5672/$GANTT_VHOST"
}

function configure_gantt_placement {
    local conf
    conf=$(create_gantt_conf gantt-placement)
    iniset "$conf" store url "$(gantt_store_url)"
    iniset "$conf" api auth_strategy keystone
    if is_service_enabled tls-proxy; then
        iniset "$conf" placement host 127.0.0.1
        iniset "$conf" placement port "$GANTT_PLACEMENT_PORT_INT"
    else
        iniset "$conf" placement host 0.0.0.0
        iniset "$conf" placement port "$GANTT_PLACEMENT_PORT"
    fi
    configure_keystone_authtoken_middleware "$conf" placement
}

# configure_gantt_scheduler - Translate what nova-scheduler would read of nova.conf, and add the addresses
function configure_gantt_scheduler {
    local conf
    conf=$(create_gantt_conf gantt-scheduler)
    if ! "$GANTT_VENV/bin/gantt-nova-config" "$NOVA_CONF" > "$GANTT_CONF_DIR/gantt-scheduler.nova.conf"; then
        die $LINENO "options of $NOVA_CONF have no counterpart in gantt, see above: unset them in local.conf"
    fi
    iniset "$conf" DEFAULT transport_url "$(gantt_bus_url scheduler)"
    iniset "$conf" store url "$(gantt_store_url)"
    iniset "$conf" nova enabled true
    iniset "$conf" nova transport_url "$(get_transport_url)"
}

function configure_gantt_nova_bridge {
    local conf
    conf=$(create_gantt_conf gantt-nova-bridge)
    iniset "$conf" store url "$(gantt_store_url)"
    iniset "$conf" nova api_database "$(database_connection_url nova_api)"
    iniset "$conf" nova cell_database "$(database_connection_url nova_cell1)"
}

# configure_gantt_command - The command "gantt" for the user of DevStack
function configure_gantt_command {
    local conf
    conf=$(create_gantt_conf gantt)
    iniset "$conf" DEFAULT transport_url "$(gantt_bus_url operator)"
}

function configure_gantt {
    sudo install -d -o "$STACK_USER" -m 0755 "$GANTT_CONF_DIR"
    configure_gantt_store
    configure_gantt_placement
    configure_gantt_scheduler
    configure_gantt_nova_bridge
    configure_gantt_command
}

# create_gantt_accounts - The user that validates tokens, and the API in the catalogue
function create_gantt_accounts {
    create_service_user placement admin
    get_or_create_service placement placement "Placement Service"
    get_or_create_endpoint placement "$REGION_NAME" "$(gantt_placement_url)"
}

# create_gantt_bus - A virtual host, and gantt's users in it: messages are believed by the user of their sender
function create_gantt_bus {
    local user
    rpc_backend_add_vhost "$GANTT_VHOST"
    for user in scheduler operator; do
        rabbit_setuser "$user" "$SERVICE_PASSWORD"
        sudo rabbitmqctl clear_permissions "$user"
        sudo rabbitmqctl set_permissions -p "$GANTT_VHOST" "$user" ".*" ".*" ".*"
    done
}

function start_gantt {
    local bin=$GANTT_VENV/bin conf=$GANTT_CONF_DIR
    run_process gantt-store "$(command -v redis-server) $conf/redis.conf"
    run_process gantt-placement "$bin/gantt-placement --config-file $conf/gantt-placement.conf"
    run_process gantt-nova-bridge "$bin/gantt-nova-bridge --config-file $conf/gantt-nova-bridge.conf"
    # Addresses come last, so nothing of nova.conf takes precedence over them.
    run_process gantt-scheduler \
        "$bin/gantt-scheduler --config-file $conf/gantt-scheduler.nova.conf --config-file $conf/gantt-scheduler.conf"
    if is_service_enabled tls-proxy; then
        start_tls_proxy gantt-placement '*' "$GANTT_PLACEMENT_PORT" 127.0.0.1 "$GANTT_PLACEMENT_PORT_INT"
    fi
    if ! wait_for_service "$SERVICE_TIMEOUT" "$(gantt_placement_url)"; then
        die $LINENO "gantt-placement did not start: journalctl -u devstack@gantt-placement"
    fi
}

function stop_gantt {
    local service
    for service in $GANTT_SERVICES; do
        stop_process "$service"
    done
}

function clean_gantt {
    sudo rm -rf "$GANTT_CONF_DIR" "$GANTT_DATA_DIR" "$GANTT_VENV"
}

case "$1/$2" in
    stack/pre-install)
        check_gantt
        ;;
    stack/install)
        echo_summary "Installing gantt"
        install_gantt
        ;;
    stack/post-config)
        # Keystone, RabbitMQ and Nova's databases are there, and no service of Nova runs yet.
        echo_summary "Configuring and starting gantt"
        configure_gantt
        create_gantt_accounts
        create_gantt_bus
        start_gantt
        ;;
    unstack/*)
        stop_gantt
        ;;
    clean/*)
        clean_gantt
        ;;
esac

$_XTRACE_GANTT
