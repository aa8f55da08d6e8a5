#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the units, their users and their folders, on this machine or below a root folder:
#   install.sh [ROOT]
# Requires the programs in /opt/gantt/bin (python3 -m venv /opt/gantt &&
# /opt/gantt/bin/pip install '.[scheduler,conductor,compute,placement,dashboard]')
# and starts nothing; write /etc/gantt/gantt-*.conf and the passwords into /etc/gantt/gantt-*.secrets.conf, run it again
# to set their modes, then for instance
#   systemctl enable --now gantt-conductor gantt-scheduler@1 gantt-compute gantt.target
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=${1:-}
case $root in
    -*)
        echo "Usage: install.sh [ROOT]: installs gantt's units, users and folders on this machine or below ROOT" >&2
        [ "$root" = --help ] && exit 0 || exit 2
        ;;
esac

if [ "$(id -u)" -ne 0 ]; then
    echo "install.sh: only root can install units and users; run it as root" >&2
    exit 1
fi

install -d "$root/etc/systemd/system" "$root/etc/sysusers.d" "$root/etc/tmpfiles.d"
install -m 0644 "$here"/*.service "$here"/*.target "$root/etc/systemd/system/"
install -m 0644 "$here/gantt.sysusers" "$root/etc/sysusers.d/gantt.conf"
install -m 0644 "$here/gantt.tmpfiles" "$root/etc/tmpfiles.d/gantt.conf"
systemd-sysusers ${root:+"--root=$root"} gantt.conf
systemd-tmpfiles ${root:+"--root=$root"} --create gantt.conf
[ -n "$root" ] || systemctl daemon-reload
