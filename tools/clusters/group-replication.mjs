// @ts-check
import { cpSync, rmSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { createDatabase, query } from '../database/connection.mjs';
import { initialiseDataFolder } from '../database/server-binary.mjs';
import { Cluster, SMALL } from './cluster.mjs';

/**
 * The settings of docs/clusters.md: HAProxy has left a primary that is cut off before the others have a new one, and a node
 * without a majority stops accepting writes.
 */
const FAILOVER = [
  '--loose-group-replication-member-expel-timeout=5',
  '--loose-group-replication-unreachable-majority-timeout=5',
  // Otherwise a restarted server accepts writes until it joins. The group turns it off on its primary.
  '--super-read-only=ON',
];

/** How long a node may take to join. */
const JOIN_MS = 90_000;

/** The state of a node in its group. */
const STATE = 'SELECT member_state FROM performance_schema.replication_group_members WHERE member_id = @@server_uuid';

/** A group of three MySQL servers on 127.0.0.1 with one primary, which is the first node at the start. */
export class GroupReplication extends Cluster {
  #group = randomUUID();

  async start() {
    await this.prepare();
    const fresh = path.join(this.folder, 'new');
    await initialiseDataFolder(this.server, fresh);
    // The identity of a server.
    rmSync(path.join(fresh, 'auto.cnf'), { force: true });
    for (const node of [0, 1, 2]) cpSync(fresh, this.dataOf(node), { recursive: true });
    await Promise.all([0, 1, 2].map((node) => this.#boot(node)));
    await this.#bootstrap(0);
    await createDatabase(this.serverUrl(0));
    // The user with which a node asks another one for what it missed.
    await query(this.serverUrl(0), "CREATE USER replication@'%'");
    await query(this.serverUrl(0), "GRANT REPLICATION SLAVE ON *.* TO replication@'%'");
    // The user of the checks of HAProxy.
    await query(this.serverUrl(0), "CREATE USER haproxy@'%'");
    await query(this.serverUrl(0), "GRANT SELECT ON performance_schema.replication_group_members TO haproxy@'%'");
    await this.#join(1);
    await this.#join(2);
  }

  /** Starts a killed node, and resolves when it is in the group and has what it missed. @param {number} node */
  async restart(node) {
    await this.#boot(node);
    await this.#join(node);
  }

  /** Starts all nodes after all were killed. The group begins with the most advanced one. */
  async restartAll() {
    await Promise.all([0, 1, 2].map((node) => this.#boot(node)));
    await this.reunite();
  }

  /** Makes nodes that left the group join it again. If all left it, it begins with the most advanced one. */
  async reunite() {
    const nodes = [];
    for (const node of [0, 1, 2]) {
      const [row] = await query(this.serverUrl(node), `SELECT @@GLOBAL.gtid_executed AS sets, (${STATE}) AS state`);
      nodes.push({ node, sets: row?.['sets'], isOnline: row?.['state'] === 'ONLINE' });
    }
    const away = nodes.filter(({ isOnline }) => !isOnline);
    for (const { node } of away) await query(this.serverUrl(node), 'STOP GROUP_REPLICATION');
    if (away.length === nodes.length) {
      let first = 0;
      for (const [at, { node, sets }] of away.entries()) {
        const [row] = await query(this.serverUrl(node), 'SELECT GTID_SUBSET(?, ?) AS hasAll', [
          away[first]?.sets,
          sets,
        ]);
        if (Number(row?.['hasAll']) === 1) first = at;
      }
      for (const { node } of away.splice(first, 1)) await this.#bootstrap(node);
    }
    for (const { node } of away) await this.#join(node);
  }

  /** The number of the primary; undefined while there is none. */
  async primary() {
    for (const [node, url] of this.urls.entries()) {
      // A killed node refuses connections.
      const [row] = await query(url, 'SELECT @@GLOBAL.super_read_only AS locked').catch(() => []);
      if (Number(row?.['locked']) === 0) return node;
    }
    return undefined;
  }

  /** @param {number} node */
  async #bootstrap(node) {
    await query(this.serverUrl(node), 'SET GLOBAL group_replication_bootstrap_group = ON');
    await this.#join(node);
    await query(this.serverUrl(node), 'SET GLOBAL group_replication_bootstrap_group = OFF');
  }

  /** @param {number} node */
  #boot(node) {
    const { sql: port, group } = this.portsOf(node);
    const address = this.addressOf(node);
    return this.boot(node, [
      ...[`--server-id=${node + 1}`, `--report-host=${address}`, `--report-port=${port}`, '--log-bin=binlog'],
      ...['--gtid-mode=ON', '--enforce-gtid-consistency=ON', '--log-bin-trust-function-creators=ON'],
      ...['--plugin-load-add=group_replication.so', `--loose-group-replication-group-name=${this.#group}`],
      ...['--loose-group-replication-start-on-boot=OFF', '--loose-group-replication-recovery-get-public-key=ON'],
      `--loose-group-replication-local-address=${address}:${group}`,
      `--loose-group-replication-group-seeds=${this.groupAddresses}`,
      ...SMALL,
      ...['--innodb-redo-log-capacity=16M', '--sync-binlog=0'],
      '--loose-group-replication-message-cache-size=134217728',
      ...FAILOVER,
    ]);
  }

  /** @param {number} node */
  async #join(node) {
    const url = this.serverUrl(node);
    await query(
      url,
      "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'replication' FOR CHANNEL 'group_replication_recovery'",
    );
    await query(url, 'START GROUP_REPLICATION');
    await this.untilJoined(node, STATE, 'ONLINE', JOIN_MS);
  }
}
