// @ts-check
//
// npm start: a database, the schema, demo data, and the service, which restarts when its source changes.
// In production: npm run start:prod
import { createHash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';
import { provideDatabase } from './local-database.mjs';
import { seedDemo, welcome } from './demo.mjs';
import { startGuarded, untilReady } from './support/guarded-process.mjs';
import { isPortFree } from './support/ports.mjs';
import { messageOf, onInterrupt, PROJECT, run } from './support/processes.mjs';

/** Cleanup functions, run in reverse order. @type {(() => unknown)[]} */
const cleanups = [];
let ending = false;

/** @param {string} line */
function say(line) {
  console.log(`[start] ${line}`);
}

/**
 * Stops everything that was started and exits. A second call is ignored: in a terminal both npm and this process get the
 * Ctrl-C, and npm forwards its own.
 *
 * @param {number} code
 */
async function end(code) {
  if (ending) return;
  ending = true;
  for (const undo of cleanups.reverse()) await undo();
  process.exit(code);
}

/**
 * Only one `npm start` runs in this folder: two would share a build and a data folder. The lock is a listening socket, so
 * the operating system releases it when the process exits.
 *
 * @throws if another one is running
 */
async function takeLock() {
  const file = path.join(tmpdir(), `cashback-${createHash('sha256').update(PROJECT).digest('hex').slice(0, 16)}.sock`);
  const probe = connect(file);
  const isTaken = await once(probe, 'connect').then(
    () => true,
    () => false,
  );
  probe.destroy();
  if (isTaken) throw new Error('"npm start" is already running in this folder. Stop it first (Ctrl-C there).');
  rmSync(file, { force: true });
  const lock = createServer().listen(file).unref();
  await once(lock, 'listening');
  cleanups.push(() => lock.close());
}

/**
 * @returns {Promise<number>} the port of the service
 * @throws if the port is in use; the message says what to do
 */
async function readPort() {
  const port = Number(process.env['PORT'] || 3000);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new Error(`PORT must be a number from 1 to 65535, not "${process.env['PORT']}".`);
  }
  // Both: some systems let one server listen on all addresses while another has the port on loopback.
  if (!(await isPortFree(port, '127.0.0.1')) || !(await isPortFree(port))) {
    throw new Error(
      `Port ${port} is in use. Stop the program that listens there, or choose another port: PORT=${port + 1} npm start`,
    );
  }
  return port;
}

/**
 * Compiles, and compiles again after each change. It uses the Nest CLI, because the Swagger plugin works only there.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns emits `built` after each compilation, and at the end of the compiler, with whether there is no error
 */
async function startCompiler(env) {
  const args = ['tools/nest.mjs', 'build', '--watch', '--preserveWatchOutput'];
  const compiler = await startGuarded({ command: process.execPath, args, env, output: 'pipe' });
  cleanups.push(() => compiler.end(5_000));
  /** @type {EventEmitter<{ built: [ok: boolean] }>} */
  const builds = new EventEmitter();
  createInterface({ input: /** @type {import('node:stream').Readable} */ (compiler.stdout) }).on('line', (line) => {
    const text = stripVTControlCharacters(line);
    const result = /Found (\d+) errors?\. Watching for file changes/.exec(text);
    // Success needs no output; errors are shown like the compiler shows them.
    if (result?.[1] !== '0' && text.trim() !== '' && !text.includes('Starting compilation'))
      console.log(process.stdout.isTTY ? line : text);
    if (result) builds.emit('built', result[1] === '0');
  });
  void compiler.exited.then(() => builds.emit('built', false));
  return builds;
}

/**
 * Bundles the back office now and after each change.
 *
 * @param {NodeJS.ProcessEnv} env
 */
async function startBundler(env) {
  const bundler = await startGuarded({
    command: process.execPath,
    args: ['tools/back-office.mjs', '--watch'],
    env,
    output: 'inherit',
  });
  cleanups.push(() => bundler.end(5_000));
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @throws if a migration fails; the message ends with its output
 */
async function migrate(env) {
  const { ok, output } = await run('npm', ['run', '--silent', 'migration:run'], { env, timeoutMs: 300_000 });
  if (!ok) throw new Error(`The migrations failed:\n${output.trimEnd()}`);
}

/**
 * @param {number} port
 * @param {string} databaseUrl
 * @returns the environment of the service
 */
const environment = (port, databaseUrl) => ({
  ...process.env,
  NODE_ENV: process.env['NODE_ENV'] || 'development',
  PORT: String(port),
  SANDBOX: process.env['SANDBOX'] || 'true',
  DATABASE_URL: databaseUrl,
  // The URL is complete. A password in `.env` may be that of compose.yaml's database.
  DATABASE_PASSWORD: '',
  // `npm run webhooks:listen` listens on this machine.
  WEBHOOK_ALLOW_PRIVATE: process.env['WEBHOOK_ALLOW_PRIVATE'] || 'true',
  // Fixed, so that tokens stay valid after a restart. JWTs are not accepted from outside, and production refuses it.
  JWT_SECRET: process.env['JWT_SECRET'] || 'change-me-change-me-change-me-change-me',
});

/** Writes the OpenAPI documents, of which the command line makes its commands. @param {NodeJS.ProcessEnv} env */
const describe = (env) => run(process.execPath, ['tools/openapi.mjs'], { env, timeoutMs: 60_000 });

/** @param {NodeJS.ProcessEnv} env @returns a function that stops the service, and the running service */
async function startService(env) {
  const args = ['--enable-source-maps', 'dist/src/main.js'];
  const service = await startGuarded({ command: process.execPath, args, env, output: 'inherit' });
  let stopping = false;
  void service.exited.then((code) => {
    if (!stopping) say(`The service exited with code ${code}.`);
  });
  const stop = () => {
    stopping = true;
    // It finishes the requests under way.
    return service.end(15_000);
  };
  return { service, stop };
}

/** @returns {Promise<void>} when the service is ready */
async function start() {
  process.chdir(PROJECT);
  if (existsSync('.env')) process.loadEnvFile('.env');
  if (process.env['NODE_ENV'] === 'production') {
    throw new Error('"npm start" is for development: it creates a demo user. In production: npm run start:prod');
  }
  await takeLock();
  const port = await readPort();
  const database = await provideDatabase({ purpose: 'start', say });
  cleanups.push(() => database.stop());
  const env = environment(port, database.url);

  say('Compiling');
  const builds = await startCompiler(env);
  const [compiles] = await once(builds, 'built');
  if (!compiles) throw new Error('The source does not compile.');
  // After the first compilation, which empties the folder of both.
  await startBundler(env);
  const described = describe(env);
  await run(process.execPath, ['tools/documents.mjs'], { env, timeoutMs: 60_000 });
  say('Applying the migrations');
  await migrate(env);
  await seedDemo(env, say, (seeding) => cleanups.push(() => seeding.end(5_000)));

  say('Starting the service');
  let running = await startService(env);
  cleanups.push(() => running.stop());
  if (!(await untilReady(`http://localhost:${port}`, running.service)))
    throw new Error('The service did not become ready.');
  await described;
  console.log(welcome(port, database.url, env.JWT_SECRET));

  let restarting = Promise.resolve();
  builds.on('built', (ok) => {
    if (!ok) return;
    restarting = restarting.then(async () => {
      if (ending) return;
      say('The source has changed: restarting the service');
      // Both use the same port.
      await running.stop();
      running = await startService(env);
      await describe(env);
    });
  });
}

/** Stops everything in order after a signal. */
function endOnRequest() {
  if (!ending) say('Stopping what was started');
  void end(0);
}

onInterrupt(endOnRequest);

try {
  await start();
} catch (error) {
  if (!ending) console.error(`\n${messageOf(error)}`);
  await end(1);
}
