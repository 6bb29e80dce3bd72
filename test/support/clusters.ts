import { findGalera } from '../../tools/clusters/galera.mjs';
import { hasHaproxy } from '../../tools/clusters/haproxy.mjs';
import { findServers, type ServerBinary } from '../../tools/database/server-binary.mjs';

function announce(what: string): undefined {
  process.stdout.write(`NOT TESTED: ${what.toUpperCase()}\n`);
}

/** Returns the server and the library of Galera. If one is missing, returns nothing and says so in capitals. */
export async function findGaleraParts(): ReturnType<typeof findGalera> {
  return (await findGalera()) ?? announce('Galera, because mariadbd or the package galera-4 is missing');
}

/**
 * Returns the server of Group Replication. If it or HAProxy is missing, returns nothing and says so in capitals.
 * TEST_MYSQLD names a MySQL server on a machine whose first server is another one.
 */
export async function findGroupReplicationServer(): Promise<ServerBinary | undefined> {
  const named = process.env.TEST_MYSQLD;
  const server: ServerBinary | undefined = named
    ? { file: named, flavour: 'mysql' }
    : (await findServers()).find(({ flavour }) => flavour === 'mysql');
  return server && (await hasHaproxy())
    ? server
    : announce('Group Replication, because mysqld or haproxy is missing (TEST_MYSQLD may name a mysqld)');
}
