#!/bin/bash
# Makes three MySQL servers a Group Replication group with one primary: new servers, or those of a group that was stopped
# entirely. If there is a group, the others join it. Run it again after an interruption.
#
# MYSQL_ROOT_PASSWORD is the password of root, and becomes that of the user `replication`. create-users.sh takes those of
# the service and the migrations.
set -euo pipefail
export MYSQL_PWD=$MYSQL_ROOT_PASSWORD
NODES=(database-1 database-2 database-3)

# Runs SQL on a server: on database-1 'SELECT 1'
on() {
  mysql --host="$1" --user=root --batch --skip-column-names --execute="$2"
}

is_online() {
  [[ $(on "$1" 'SELECT COUNT(*) FROM performance_schema.replication_group_members
                WHERE member_id = @@server_uuid AND member_state = "ONLINE"') == 1 ]]
}

# Whether a server has everything that the others have.
has_all() {
  local other
  for other in "${NODES[@]}"; do
    [[ $(on "$1" "SELECT GTID_SUBSET('$(on "$other" 'SELECT @@GLOBAL.gtid_executed' | tr -d '\\n')', @@GLOBAL.gtid_executed)") == 1 ]] ||
      return 1
  done
}

# Stops the server's part in the group, and sets the user with which it recovers what it missed from another server.
prepare() {
  on "$1" "STOP GROUP_REPLICATION; CHANGE REPLICATION SOURCE TO SOURCE_USER = 'replication',
    SOURCE_PASSWORD = '$MYSQL_ROOT_PASSWORD' FOR CHANNEL 'group_replication_recovery'"
}

bootstrap() {
  prepare "$1"
  on "$1" 'SET GLOBAL group_replication_bootstrap_group = ON; START GROUP_REPLICATION;
           SET GLOBAL group_replication_bootstrap_group = OFF'
  DATABASE_HOST=$1 bash /create-users.sh
  on "$1" "CREATE USER IF NOT EXISTS replication@'%' IDENTIFIED BY '$MYSQL_ROOT_PASSWORD';
    GRANT REPLICATION SLAVE, CONNECTION_ADMIN, BACKUP_ADMIN, GROUP_REPLICATION_STREAM ON *.* TO replication@'%';
    -- For the checks of HAProxy: without a password.
    CREATE USER IF NOT EXISTS haproxy@'%';
    GRANT SELECT ON performance_schema.replication_group_members TO haproxy@'%'"
}

join_group() {
  prepare "$1"
  on "$1" 'START GROUP_REPLICATION'
  until is_online "$1"; do sleep 0.5; done
}

for node in "${NODES[@]}"; do
  # A new server: its image created its users in its own binary log, which no other server has.
  [[ $(on "$node" 'SELECT @@group_replication_start_on_boot') == 1 ]] || on "$node" 'RESET BINARY LOGS AND GTIDS'
done
first=
for node in "${NODES[@]}"; do if is_online "$node"; then first=$node; fi; done
if [[ -z $first ]]; then
  for node in "${NODES[@]}"; do if has_all "$node"; then first=$node; fi; done
  bootstrap "$first"
fi
for node in "${NODES[@]}"; do
  is_online "$node" || join_group "$node"
  # After a restart a server joins the group by itself, and accepts no writes before it has joined.
  on "$node" 'SET PERSIST_ONLY group_replication_start_on_boot = ON; SET PERSIST_ONLY super_read_only = ON'
done

# HAProxy has found the primary when one connection after another reaches it.
for ((reached = 0; reached < 6; )); do
  if [[ $(on haproxy 'SELECT @@GLOBAL.super_read_only' || true) == 0 ]]; then reached=$((reached + 1)); else reached=0; fi
  sleep 0.5
done
