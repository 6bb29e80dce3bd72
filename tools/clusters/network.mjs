// @ts-check
import { createServer, connect } from 'node:net';
import { once } from 'node:events';
import { run } from '../support/processes.mjs';

/** @param {string[]} args of `ip` */
const ip = (...args) => run('ip', args, { timeoutMs: 10_000 });

/**
 * Three hosts on this machine, one for each server of a cluster, which can be cut off from each other: network namespaces
 * of Linux behind a bridge. A server announces its address to its group, so a proxy on one host cannot stand between them.
 * Clients reach each server at 127.0.0.1 of this machine, also while it is cut off.
 */
export class HostNetwork {
  #name = `cashback-${process.pid}`;
  /** @type {import('node:net').Server[]} */
  #forwarders = [];

  /** Whether this process may make network namespaces. */
  static async isPossible() {
    const name = `cashback-${process.pid}-try`;
    const { ok } = await ip('netns', 'add', name);
    if (ok) await ip('netns', 'delete', name);
    return ok;
  }

  /** The address of a host in its group. @param {number} host */
  address(host) {
    return `10.77.0.${host + 1}`;
  }

  /** What to put before a command that runs on a host. @param {number} host */
  command(host) {
    return ['ip', 'netns', 'exec', this.#host(host)];
  }

  async start() {
    await this.#ip('netns', 'add', this.#name);
    await this.#ip('-netns', this.#name, 'link', 'add', 'bridge', 'type', 'bridge');
    await this.#ip('-netns', this.#name, 'link', 'set', 'bridge', 'up');
    for (const host of [0, 1, 2]) {
      const name = this.#host(host);
      await this.#ip('netns', 'add', name);
      const link = ['-netns', name, 'link'];
      await this.#ip(...link, 'add', 'eth', 'type', 'veth', 'peer', 'name', `port${host}`, 'netns', this.#name);
      await this.#ip('-netns', name, 'address', 'add', `${this.address(host)}/24`, 'dev', 'eth');
      for (const device of ['lo', 'eth']) await this.#ip(...link, 'set', device, 'up');
      await this.#ip('-netns', this.#name, 'link', 'set', `port${host}`, 'master', 'bridge');
      await this.heal(host);
    }
  }

  /** Drops all packets between a host and the others. @param {number} host */
  cut(host) {
    return this.#ip('-netns', this.#name, 'link', 'set', `port${host}`, 'down');
  }

  /** @param {number} host */
  heal(host) {
    return this.#ip('-netns', this.#name, 'link', 'set', `port${host}`, 'up');
  }

  /**
   * Forwards connections to a port of this machine to the socket of a server.
   *
   * @param {number} port
   * @param {string} socket
   */
  async forward(port, socket) {
    const server = createServer((client) => {
      const upstream = connect(socket);
      client.pipe(upstream).pipe(client);
      for (const [one, other] of [
        [client, upstream],
        [upstream, client],
      ]) {
        one?.on('error', () => undefined);
        one?.on('close', () => other?.destroy());
      }
    });
    this.#forwarders.push(server.listen(port, '127.0.0.1'));
    await once(server, 'listening');
  }

  /** Call it after the servers have ended. */
  async stop() {
    for (const server of this.#forwarders) server.close();
    for (const name of [0, 1, 2].map((host) => this.#host(host)).concat(this.#name)) await ip('netns', 'delete', name);
  }

  /** @param {number} host */
  #host(host) {
    return `${this.#name}-${host}`;
  }

  /** @param {string[]} args */
  async #ip(...args) {
    const { ok, output } = await ip(...args);
    if (!ok) throw new Error(`ip ${args.join(' ')}: ${output}`);
  }
}
