#!/bin/bash
# Creates the database and its two users: `cashback` for the service, which reads and writes rows, and `migrations`, which may
# change tables, too. The mysql image runs this when it creates the volume of compose.yaml, and start-group.sh on the group's
# primary (DATABASE_HOST).
MYSQL_PWD=$MYSQL_ROOT_PASSWORD mysql --host="${DATABASE_HOST:-localhost}" --user=root <<SQL
CREATE DATABASE IF NOT EXISTS cashback CHARACTER SET utf8mb4;
CREATE USER IF NOT EXISTS cashback@'%' IDENTIFIED BY '$DATABASE_PASSWORD';
GRANT SELECT, INSERT, UPDATE, DELETE ON cashback.* TO cashback@'%';
CREATE USER IF NOT EXISTS migrations@'%' IDENTIFIED BY '$DATABASE_MIGRATIONS_PASSWORD';
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, REFERENCES, TRIGGER ON cashback.* TO migrations@'%';
SQL
