#!/bin/bash
# Starts MySQL in the stand-in for its image. It knows what the project uses of that image, and fills an empty volume as the
# image does: a server on the socket only, its users, the files in /docker-entrypoint-initdb.d, and then the server itself.
set -eo pipefail
data=/var/lib/mysql
server=(mysqld --user=root --datadir=$data --secure-file-priv=NULL --mysqlx=OFF --skip-name-resolve "$@")
mkdir -p /run/mysqld /var/run/mysqld
if [[ ! -d $data/mysql ]]; then
  if [[ -z $MYSQL_ROOT_PASSWORD$MYSQL_ALLOW_EMPTY_PASSWORD ]]; then
    echo 'Database is uninitialized and password option is not specified' >&2
    exit 1
  fi
  mysqld --no-defaults --user=root --datadir=$data --initialize-insecure
  "${server[@]}" --skip-networking &
  filling=$!
  until mysql --user=root --execute='SELECT 1' >/dev/null 2>&1; do
    kill -0 "$filling"
    sleep 0.2
  done
  {
    echo 'SET sql_log_bin = OFF;'
    if [[ ${MYSQL_ROOT_HOST:=%} != localhost ]]; then
      echo "CREATE USER root@'$MYSQL_ROOT_HOST' IDENTIFIED BY '$MYSQL_ROOT_PASSWORD';"
      echo "GRANT ALL ON *.* TO root@'$MYSQL_ROOT_HOST' WITH GRANT OPTION;"
    fi
    echo "ALTER USER root@localhost IDENTIFIED BY '$MYSQL_ROOT_PASSWORD';"
  } | mysql --user=root
  for file in /docker-entrypoint-initdb.d/*.sh; do
    # shellcheck source=/dev/null
    if [[ -x $file ]]; then "$file"; elif [[ -e $file ]]; then . "$file"; fi
  done
  MYSQL_PWD=$MYSQL_ROOT_PASSWORD mysql --user=root --execute=SHUTDOWN
  wait "$filling"
fi
exec "${server[@]}"
