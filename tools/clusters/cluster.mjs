// @ts-check
import { rmSync } from 'node:fs';
import path from 'node:path';
import { makeTempFolder } from '../support/processes.mjs';

/** @typedef {import('../database/server-binary.mjs').ServerBinary} ServerBinary */

/** Three private servers on 127.0.0.1, each with a data folder that is thrown away at the end. */
export class Cluster {
  /** @protected */
  folder = makeTempFolder('cashback-cluster');
  /** @protected @type {(import('../database/private-server.mjs').PrivateServer | undefined)[]} */
  running = [];

  /** @param {ServerBinary} server */
  constructor(server) {
    /** @protected */
    this.server = server;
  }

  /** SIGKILL. @param {number} node */
  async kill(node) {
    await this.running[node]?.kill();
  }

  /** Kills all servers: their data is thrown away, and an orderly end can take half a minute. */
  async stop() {
    for (const running of this.running) await running?.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** @protected @param {number} node */
  dataOf(node) {
    return path.join(this.folder, `n${node}`);
  }

  /**
   * Runs the start of a cluster. If it fails, nothing that it started is left.
   *
   * @protected @param {() => Promise<void>} start
   */
  async startOrStop(start) {
    try {
      await start();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }
}
