#!/bin/bash
# Starts MySQL in the stand-in for its image, with the variables of that image which the project uses.
set -eu
data=/var/lib/mysql
server=(mysqld --user=root --datadir=$data --secure-file-priv=NULL --mysqlx=OFF --socket=/tmp/mysql.sock --skip-name-resolve)
mkdir -p /run/mysqld /var/run/mysqld
if [[ ! -d $data/mysql ]]; then
  mysqld --no-defaults --user=root --datadir=$data --initialize-insecure
  {
    echo 'SET sql_log_bin = OFF;'
    echo "ALTER USER root@localhost IDENTIFIED BY '${MYSQL_ROOT_PASSWORD:-}';"
    if [[ -z ${MYSQL_RANDOM_ROOT_PASSWORD:-} ]]; then
      echo "CREATE USER root@'%' IDENTIFIED BY '${MYSQL_ROOT_PASSWORD:-}';"
      echo "GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;"
    fi
    if [[ -n ${MYSQL_DATABASE:-} ]]; then echo "CREATE DATABASE \`$MYSQL_DATABASE\`;"; fi
    if [[ -n ${MYSQL_USER:-} ]]; then
      echo "CREATE USER $MYSQL_USER@'%' IDENTIFIED BY '$MYSQL_PASSWORD';"
      echo "GRANT ALL ON \`$MYSQL_DATABASE\`.* TO $MYSQL_USER@'%';"
    fi
  } >/tmp/init.sql
  server+=(--init-file=/tmp/init.sql)
fi
exec "${server[@]}" "$@"
