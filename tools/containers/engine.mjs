// @ts-check
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findEngine } from '../database/docker.mjs';
import { startGuarded } from '../support/guarded-process.mjs';
import { makeTempFolder, run, tail } from '../support/processes.mjs';

/**
 * Runs a command until it ends or this shell gets SIGTERM, and then deletes the network bridges and control groups that it
 * made. The command is killed: it is the first process of its namespaces, so all containers and mounts go with it.
 */
const CONTAIN = `
groups=$1; shift
before=" $(echo $(ls /sys/class/net)) "
"$@" & engine=$!
trap 'kill -KILL "$engine"' TERM
wait "$engine"; wait "$engine"
for link in $(ls /sys/class/net); do
  case "$before" in *" $link "*) continue ;; esac
  case $link in docker0 | br-*) ip link delete "$link" ;; esac
done
find /sys/fs/cgroup -depth -type d -path "*/$groups*" -exec rmdir {} +
`;

const START_MS = 60_000;

/**
 * @typedef {object} Engine
 * @property {NodeJS.ProcessEnv} env of commands that use it
 * @property {boolean} isOwn whether it was started here, and what it has is thrown away
 * @property {() => Promise<void>} stop does nothing to an engine that was not started here
 */

/** Why there can be no Docker engine here; undefined if one answers or can be started. */
export async function findObstacle() {
  if ('version' in (await findEngine())) return undefined;
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'no engine answers, and only root can start one';
  const { ok } = await run('dockerd', ['--version'], { timeoutMs: 10_000 });
  return ok ? undefined : 'no engine answers, and there is no dockerd';
}

/**
 * Takes the Docker engine that answers, or starts one whose data, containers and mounts are gone when this process is,
 * however it ends. It changes no firewall rules, so its containers reach each other and the machine, but no other network;
 * `docker build --network=host` does.
 *
 * @returns {Promise<Engine>}
 * @throws if an engine can't be started
 */
export async function startEngine() {
  if ('version' in (await findEngine())) return { env: process.env, isOwn: false, stop: () => Promise.resolve() };
  const folder = makeTempFolder('cashback-engine');
  const env = { ...process.env, DOCKER_HOST: `unix://${folder}/docker.sock` };
  const place = ['data-root', 'exec-root', 'pidfile'].map((name) => `--${name}=${path.join(folder, name)}`);
  const groups = path.basename(folder);
  const options = [
    `--cgroup-parent=${groups}`,
    `--host=${env.DOCKER_HOST}`,
    '--iptables=false',
    '--ip-forward=false',
    '--log-level=error',
  ];
  const namespaces = ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const file = path.join(folder, 'log');
  const running = await startGuarded({
    command: 'sh',
    args: ['-c', CONTAIN, 'contain', groups, ...namespaces, 'dockerd', ...place, ...options],
    output: { file },
    litter: folder,
  });
  const stop = async () => {
    await running.end(20_000);
    rmSync(folder, { recursive: true, force: true });
  };
  for (const deadline = Date.now() + START_MS; ; await sleep(200)) {
    if ((await run('docker', ['version'], { env, timeoutMs: 5_000 })).ok) return { env, isOwn: true, stop };
    if (!running.hasExited() && Date.now() < deadline) continue;
    const said = tail(readFileSync(file, 'utf8'));
    await stop();
    throw new Error(`dockerd did not start:\n${said}`);
  }
}
