// @ts-check
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase } from '../database/connection.mjs';
import { findServers, userOption } from '../database/server-binary.mjs';
import { startGuarded } from '../support/guarded-process.mjs';
import { tail } from '../support/processes.mjs';
import { Cluster, SMALL } from './cluster.mjs';

/** Where Debian's package galera-4 and those of other distributions put the library. */
const LIBRARIES = ['/usr/lib/galera', '/usr/lib64/galera-4', '/usr/lib64/galera'].map((folder) =>
  path.join(folder, 'libgalera_smm.so'),
);

/**
 * The program with which nodes agree on a state transfer. A node gets the writes that it missed from another node; a copy of
 * all data is never needed, because the nodes start with copies of one data folder. The position goes through a file.
 */
const STATE_TRANSFER = `#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    --role) role=$2; shift ;;
    --address) address=\${2%%/*}; shift ;;
    --gtid) position=$2; shift ;;
    --bypass) bypass=yes ;;
  esac
  shift
done
file=$(dirname "$0")/$address.position
if [ "$role" = donor ]; then
  [ "$bypass" = yes ] || exit 1
  echo "$position" >"$file.new" && mv "$file.new" "$file"
  echo "done $position"
else
  rm -f "$file"
  echo "ready $address/"
  for _ in $(seq 600); do [ -f "$file" ] && break; sleep 0.1; done
  cat "$file"
fi
`;

/** How long a node may take to join. */
const JOIN_MS = 60_000;

/** The server and the library that makes several of it a cluster, if both are on this machine. */
export async function findGalera() {
  const provider = LIBRARIES.find((file) => existsSync(file));
  const server = (await findServers()).find(({ flavour }) => flavour === 'mariadb');
  return server && provider !== undefined ? { server, provider } : undefined;
}

/**
 * A cluster of three MariaDB servers on 127.0.0.1, each of which accepts writes.
 *
 * The nodes start with copies of one data folder, and a killed one gets the writes that it missed from the memory of
 * another one. So no node ever needs a full copy of another one's data, nor the programs that make it.
 */
export class Galera extends Cluster {
  /**
   * @param {import('./cluster.mjs').ServerBinary} server
   * @param {string} provider as `findGalera` returns it
   * @param {import('./network.mjs').HostNetwork} [network]
   */
  constructor(server, provider, network) {
    super(server, network);
    this.provider = provider;
  }

  async start() {
    await this.prepare();
    writeFileSync(path.join(this.folder, 'wsrep_sst_position'), STATE_TRANSFER, { mode: 0o755 });
    // The first node alone, until its data folder has the position that the copies start from.
    await this.#boot(0, '--wsrep-new-cluster');
    await createDatabase(this.serverUrl(0));
    await this.nodes[0]?.stop();
    for (const node of [1, 2]) cpSync(this.dataOf(0), this.dataOf(node), { recursive: true });
    await this.#boot(0, '--wsrep-new-cluster');
    await Promise.all([this.#boot(1), this.#boot(2)]);
  }

  /** Starts a killed node, and resolves when it has what it missed. @param {number} node */
  async restart(node) {
    await this.#boot(node, `--wsrep-start-position=${await this.#positionOf(node)}`);
  }

  /**
   * Starts all nodes after all were killed, the most advanced one first. The others get its data if they lack any: the
   * memory of writes has ended with the nodes, so they need a full copy.
   *
   * @returns how many writes each node lacked
   */
  async restartAll() {
    const positions = await Promise.all([0, 1, 2].map((node) => this.#positionOf(node)));
    const writes = positions.map((position) => Number(position.split(':')[1]));
    const most = Math.max(...writes);
    const first = writes.indexOf(most);
    for (const node of [0, 1, 2])
      if (writes[node] !== most) {
        rmSync(this.dataOf(node), { recursive: true });
        // A copy has another identity, and its own socket.
        const filter = (/** @type {string} */ file) => !/(\.sock|gvwstate\.dat)$/.test(file);
        cpSync(this.dataOf(first), this.dataOf(node), { recursive: true, filter });
      }
    const state = path.join(this.dataOf(first), 'grastate.dat');
    writeFileSync(state, readFileSync(state, 'utf8').replace(/safe_to_bootstrap: \d/, 'safe_to_bootstrap: 1'));
    const position = `--wsrep-start-position=${positions[first]}`;
    await this.#boot(first, position, '--wsrep-new-cluster');
    for (const node of [0, 1, 2]) if (node !== first) await this.#boot(node, position);
    return writes.map((number) => most - number);
  }

  /** Nodes that can reach each other again join by themselves. */
  async reunite() {
    for (const node of [0, 1, 2]) await this.#untilReady(node);
  }

  /** @param {number} node */
  #positionOf(node) {
    return positionOf(this.server, this.dataOf(node), this.#optionsOf(node));
  }

  /** @param {number} node */
  #optionsOf(node) {
    const { sql, group, transfer } = this.portsOf(node);
    const address = this.addressOf(node);
    return [
      ...['--binlog-format=ROW', '--innodb-autoinc-lock-mode=2', '--wsrep-on=ON', `--wsrep-provider=${this.provider}`],
      `--wsrep-cluster-address=gcomm://${this.groupAddresses}`,
      ...['--wsrep-cluster-name=cashback', `--wsrep-node-name=n${node}`, '--wsrep-sst-method=position'],
      `--wsrep-sst-receive-address=${address}:${transfer}`,
      `--wsrep-node-address=${address}:${group}`,
      `--wsrep-node-incoming-address=127.0.0.1:${sql}`,
      `--wsrep-provider-options=gmcast.listen_addr=tcp://${address}:${group};ist.recv_addr=${address}:${transfer};gcache.size=64M`,
      ...SMALL,
      '--innodb-log-file-size=16M',
    ];
  }

  /** @param {number} node @param {string[]} more options */
  async #boot(node, ...more) {
    // The server looks for the program of the state transfer there.
    const env = { ...process.env, PATH: `${this.folder}:${process.env['PATH']}` };
    await this.boot(node, [...this.#optionsOf(node), ...more], env);
    await this.#untilReady(node);
  }

  /** @param {number} node */
  #untilReady(node) {
    return this.untilJoined(node, "SHOW STATUS LIKE 'wsrep_ready'", 'ON', JOIN_MS);
  }
}

/**
 * The last write in the data folder of a killed node.
 *
 * @param {import('../database/server-binary.mjs').ServerBinary} server
 * @param {string} folder
 * @param {string[]} options of the node
 */
async function positionOf(server, folder, options) {
  const file = path.join(folder, 'recovery.log');
  rmSync(file, { force: true });
  const own = ['--no-defaults', ...userOption(), `--datadir=${folder}`, '--skip-networking', '--wsrep-recover'];
  const args = [...own, `--socket=${path.join(folder, 'recovery.sock')}`, ...options];
  const recovery = await startGuarded({ command: server.file, args, output: { file }, litter: folder });
  const said = () => readFileSync(file, 'utf8');
  const position = () => /Recovered position: (\S+)\n/.exec(said())?.[1];
  const deadline = Date.now() + JOIN_MS;
  while (!position() && !recovery.hasExited() && Date.now() < deadline) await sleep(50);
  // The server may say the position and then not end: it waits for transactions that nobody will finish.
  await recovery.end(0);
  const found = position();
  if (!found) throw new Error(`the node in ${folder} has no position:\n${tail(said())}`);
  return found;
}
