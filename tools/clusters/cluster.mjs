// @ts-check
import { rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DATABASE_NAME, query } from '../database/connection.mjs';
import { startPrivateServer } from '../database/private-server.mjs';
import { findFreePort } from '../support/ports.mjs';
import { makeTempFolder } from '../support/processes.mjs';

/** @typedef {import('../database/server-binary.mjs').ServerBinary} ServerBinary */

/** Little memory. What the service requires of a server, because all of them can be killed at once: a commit is on disk. */
export const SMALL = ['--innodb-buffer-pool-size=64M', '--innodb-flush-log-at-trx-commit=1', '--innodb-doublewrite=0'];

/**
 * Three private servers on 127.0.0.1, each with a data folder that is thrown away at the end. If the start fails, `stop`
 * removes what it has started.
 */
export class Cluster {
  /** @protected */
  folder = makeTempFolder('cashback-cluster');
  /** The running servers. @type {import('../database/private-server.mjs').PrivateServer[]} */
  nodes = [];
  /** The ports of each node: for statements, for its group, and for the writes that a node missed. @protected */
  ports = /** @type {{ sql: number, group: number, transfer: number }[]} */ ([]);

  /**
   * @param {ServerBinary} server
   * @param {import('./network.mjs').HostNetwork} [network] the hosts of the servers; all on 127.0.0.1 if left out
   */
  constructor(server, network) {
    /** @protected */
    this.server = server;
    /** @protected */
    this.network = network;
  }

  /** The URLs of the nodes, with the schema `cashback`. */
  get urls() {
    return this.ports.map((_, node) => this.serverUrl(node) + DATABASE_NAME);
  }

  /** Kills all servers: their data is thrown away, and an orderly end can take half a minute. */
  async stop() {
    await this.killAll();
    await this.network?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Kills all servers at once. */
  async killAll() {
    await Promise.all(this.nodes.map((server) => server.kill()));
  }

  /** Finds ports, and starts the network. @protected */
  async prepare() {
    await this.network?.start();
    for (let node = 0; node < 3; node++) {
      const sql = await findFreePort();
      await this.network?.forward(sql, this.#socketOf(node));
      this.ports.push({ sql, group: await findFreePort(), transfer: await findFreePort() });
    }
  }

  /** The address at which the other nodes reach a node. @protected @param {number} node */
  addressOf(node) {
    return this.network?.address(node) ?? '127.0.0.1';
  }

  /** @param {number} node */
  #socketOf(node) {
    return path.join(this.folder, `n${node}.sock`);
  }

  /** @protected @param {number} node */
  portsOf(node) {
    return this.ports[node] ?? { sql: 0, group: 0, transfer: 0 };
  }

  /** The addresses where the nodes find each other. @protected */
  get groupAddresses() {
    return this.ports.map(({ group }, node) => `${this.addressOf(node)}:${group}`).join(',');
  }

  /** @protected @param {number} node */
  dataOf(node) {
    return path.join(this.folder, `n${node}`);
  }

  /** The URL of a node without a schema. @protected @param {number} node */
  serverUrl(node) {
    return `${this.server.flavour}://root@127.0.0.1:${this.portsOf(node).sql}/`;
  }

  /** @protected @param {number} node @param {string[]} options @param {NodeJS.ProcessEnv} [env] */
  async boot(node, options, env = process.env) {
    const place = {
      dataDir: this.dataOf(node),
      litter: this.folder,
      port: this.portsOf(node).sql,
      createsSchema: false,
      command: this.network?.command(node),
    };
    const own = this.network ? [`--socket=${this.#socketOf(node)}`, '--bind-address=0.0.0.0'] : [];
    this.nodes[node] = await startPrivateServer({ server: this.server, ...place, options: [...own, ...options], env });
  }

  /**
   * Waits until a node is in the cluster.
   *
   * @protected
   * @param {number} node
   * @param {string} sql returns its state in the last column
   * @param {string} joined the state of a node that is in the cluster
   * @param {number} timeoutMs
   */
  async untilJoined(node, sql, joined, timeoutMs) {
    for (const deadline = Date.now() + timeoutMs; ; await sleep(100)) {
      const [row] = await query(this.serverUrl(node), sql);
      const state = Object.values(row ?? {}).at(-1);
      if (state === joined) return;
      if (Date.now() > deadline) throw new Error(`node ${node} did not join the cluster: ${String(state)}`);
    }
  }
}
