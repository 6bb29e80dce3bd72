// @ts-check
import { cpSync, rmSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase, query } from '../database/connection.mjs';
import { startPrivateServer } from '../database/private-server.mjs';
import { initialiseDataFolder } from '../database/server-binary.mjs';
import { findFreePort } from '../support/ports.mjs';
import { Cluster } from './cluster.mjs';

/** Little memory, and no wait for the disk: what a killed server has committed survives in the memory of the kernel. */
const SMALL = ['--innodb-buffer-pool-size=64M', '--innodb-redo-log-capacity=16M', '--innodb-doublewrite=0'].concat([
  '--innodb-flush-log-at-trx-commit=2',
  '--sync-binlog=0',
  '--loose-group-replication-message-cache-size=134217728',
]);

/** The settings of docs/clusters.md: a lost node is replaced soon, and one without a majority stops accepting writes. */
const FAILOVER = [
  '--loose-group-replication-member-expel-timeout=0',
  '--loose-group-replication-unreachable-majority-timeout=5',
  // Otherwise a restarted server accepts writes until it joins. The group turns it off on its primary.
  '--super-read-only=ON',
];

/** How long a node may take to join. */
const JOIN_MS = 90_000;

/** A group of three MySQL servers on 127.0.0.1 with one primary, which is the first node at the start. */
export class GroupReplication extends Cluster {
  #group = randomUUID();
  /** @type {{ sql: number, group: number }[]} */
  #ports = [];

  /** @param {import('./cluster.mjs').ServerBinary} server */
  static async start(server) {
    const cluster = new GroupReplication(server);
    await cluster.startOrStop(() => cluster.#start());
    return cluster;
  }

  /** The URLs of the nodes, with the schema `cashback`. */
  get urls() {
    return this.#ports.map(({ sql }) => `mysql://root@127.0.0.1:${sql}/cashback`);
  }

  /** Starts a killed node, and resolves when it is in the group and has what it missed. @param {number} node */
  async restart(node) {
    await this.#boot(node);
    await this.#join(node);
  }

  /** The number of the primary; undefined while there is none. */
  async primary() {
    const isPrimary = await Promise.all(
      this.urls.map((url) =>
        query(url, 'SELECT @@GLOBAL.super_read_only AS locked').then(
          ([row]) => Number(row?.['locked']) === 0,
          () => false,
        ),
      ),
    );
    const node = isPrimary.indexOf(true);
    return node < 0 ? undefined : node;
  }

  async #start() {
    for (let node = 0; node < 3; node++) this.#ports.push({ sql: await findFreePort(), group: await findFreePort() });
    const fresh = path.join(this.folder, 'new');
    await initialiseDataFolder(this.server, fresh);
    // The identity of a server.
    rmSync(path.join(fresh, 'auto.cnf'), { force: true });
    for (const node of this.#ports.keys()) cpSync(fresh, this.dataOf(node), { recursive: true });
    await Promise.all([...this.#ports.keys()].map((node) => this.#boot(node)));
    const [first = ''] = this.urls.map((url) => url.replace('cashback', ''));
    await query(first, 'SET GLOBAL group_replication_bootstrap_group = ON');
    await this.#join(0);
    await query(first, 'SET GLOBAL group_replication_bootstrap_group = OFF');
    await createDatabase(first);
    await this.#join(1);
    await this.#join(2);
  }

  /** @param {number} node */
  async #boot(node) {
    const { sql: port, group } = this.#ports[node] ?? { sql: 0, group: 0 };
    const options = [
      ...[`--server-id=${node + 1}`, '--report-host=127.0.0.1', `--report-port=${port}`, '--log-bin=binlog'],
      ...['--gtid-mode=ON', '--enforce-gtid-consistency=ON', '--log-bin-trust-function-creators=ON'],
      ...['--plugin-load-add=group_replication.so', `--loose-group-replication-group-name=${this.#group}`],
      ...['--loose-group-replication-start-on-boot=OFF', '--loose-group-replication-recovery-get-public-key=ON'],
      `--loose-group-replication-local-address=127.0.0.1:${group}`,
      `--loose-group-replication-group-seeds=${this.#ports.map((ports) => `127.0.0.1:${ports.group}`).join(',')}`,
      ...SMALL.concat(FAILOVER),
    ];
    const place = { dataDir: this.dataOf(node), litter: this.folder, port, createsSchema: false };
    this.running[node] = await startPrivateServer({ server: this.server, ...place, options });
  }

  /** @param {number} node */
  async #join(node) {
    const url = this.urls[node]?.replace('cashback', '') ?? '';
    await query(url, "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'root' FOR CHANNEL 'group_replication_recovery'");
    await query(url, 'START GROUP_REPLICATION');
    for (const deadline = Date.now() + JOIN_MS; ; await sleep(100)) {
      const [row] = await query(
        url,
        'SELECT member_state AS state FROM performance_schema.replication_group_members WHERE member_port = @@port',
      );
      if (row?.['state'] === 'ONLINE') return;
      if (Date.now() > deadline) throw new Error(`node ${node} did not join the group: ${row?.['state']}`);
    }
  }
}
