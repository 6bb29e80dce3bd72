// @ts-check
import { cpSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';
import { makeTempFolder, run, tail } from '../support/processes.mjs';

/** The images that compose.yaml, compose.cluster.yaml and Dockerfile start from. */
const IMAGES = { node: 'node:24-bookworm-slim', mysql: 'mysql:8.4', haproxy: 'haproxy:3.2' };

/** A Debian folder with a MySQL server, its client and HAProxy: see .ci/run. */
const DEBIAN = process.env['TEST_DEBIAN'];

/**
 * Gets the images from their registry. An engine that was started for a test gets stand-ins for those that can't be had: the
 * same programs, from Debian unstable, the npm of this machine and the Node that runs this.
 *
 * @param {import('./engine.mjs').Engine} engine
 * @returns {Promise<string[]>} the images that are stand-ins
 * @throws if an image can be had in neither way
 */
export async function provideImages(engine) {
  const docker = (/** @type {string[]} */ ...args) => run('docker', args, { env: engine.env, timeoutMs: 300_000 });
  const missing = [];
  for (const [target, image] of Object.entries(IMAGES)) {
    if ((await docker('image', 'inspect', image)).ok || (await docker('pull', '--quiet', image)).ok) continue;
    missing.push({ target, image });
  }
  if (missing.length === 0) return [];
  if (!engine.isOwn || !DEBIAN) throw new Error(`${missing.map(({ image }) => image).join(', ')} can't be pulled`);
  await importDebian(DEBIAN, engine.env);
  const folder = makeTempFolder('cashback-stand-ins');
  try {
    const registry = await gather(folder);
    for (const { target, image } of missing) {
      const args = ['--quiet', '--target', target, '--tag', image, '--build-arg', `REGISTRY=${registry}`, folder];
      const { ok, output } = await docker('build', ...args);
      if (!ok) throw new Error(`the stand-in for ${image} could not be built:\n${tail(output)}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return missing.map(({ image }) => image);
}

/**
 * Copies what the stand-ins are built from into a folder.
 *
 * @param {string} folder
 * @returns {Promise<string>} the URL of npm's registry
 */
async function gather(folder) {
  // The program is a link to <npm's folder>/bin/npm-cli.js.
  const npm = realpathSync((await run('sh', ['-c', 'command -v npm'])).output.trim());
  cpSync(path.dirname(path.dirname(npm)), path.join(folder, 'npm'), { recursive: true, dereference: true });
  cpSync(process.execPath, path.join(folder, 'node'), { dereference: true });
  cpSync('/etc/ssl/certs/ca-certificates.crt', path.join(folder, 'ca-certificates.crt'), { dereference: true });
  for (const name of ['Dockerfile', 'mysql-entrypoint.sh'])
    cpSync(path.join(import.meta.dirname, name), path.join(folder, name));
  return (await run('npm', ['config', 'get', 'registry'])).output.trim().split('\n').at(-1) ?? '';
}

/** @param {string} folder @param {NodeJS.ProcessEnv} env */
async function importDebian(folder, env) {
  const except = ['./proc/*', './sys/*', './var/cache/*', './var/lib/apt/*'].map((name) => `--exclude=${name}`);
  const command = 'folder=$1; shift; tar -C "$folder" "$@" -c . | docker import - debian-of-tests';
  const { ok, output } = await run('sh', ['-c', command, 'import', folder, ...except], { env, timeoutMs: 300_000 });
  if (!ok) throw new Error(`${folder} could not be imported:\n${tail(output)}`);
}
