// @ts-check
//
// npm start: a database, the schema, demo data, and the service, which restarts when its source changes.
// In production: npm run start:prod
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { provideDatabase } from './local-database.mjs';
import { startCompiler } from './start/compiler.mjs';
import { seedDemo, welcome } from './start/demo.mjs';
import { takeLock } from './start/lock.mjs';
import { createService } from './start/service.mjs';
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
 * Compiles once, and again after each change.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns the events of later compilations
 * @throws if the first compilation finds errors
 */
async function compile(env) {
  const { builds, end } = await startCompiler(env);
  cleanups.push(() => end(5_000));
  const [ok] = await once(builds, 'built');
  if (!ok) throw new Error('The source does not compile.');
  return builds;
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
  DATABASE_URL: databaseUrl,
  // The URL is complete. A password in `.env` may be that of compose.yaml's database.
  DATABASE_PASSWORD: '',
  // `npm run webhooks:listen` listens on this machine.
  WEBHOOK_ALLOW_PRIVATE: process.env['WEBHOOK_ALLOW_PRIVATE'] || 'true',
  // Fixed, so that tokens stay valid after a restart. JWTs are not accepted from outside, and production refuses it.
  JWT_SECRET: process.env['JWT_SECRET'] || 'change-me-change-me-change-me-change-me',
});

/** @returns {Promise<void>} when the service is ready */
async function start() {
  process.chdir(PROJECT);
  if (existsSync('.env')) process.loadEnvFile('.env');
  if (process.env['NODE_ENV'] === 'production') {
    throw new Error('"npm start" is for development: it creates a demo user. In production: npm run start:prod');
  }
  cleanups.push(await takeLock(PROJECT));
  const port = await readPort();
  const database = await provideDatabase({ purpose: 'start', say });
  cleanups.push(() => database.stop());
  const env = environment(port, database.url);

  say('Compiling');
  const builds = await compile(env);
  say('Applying the migrations');
  await migrate(env);
  if (await seedDemo(env)) say('Created a demo merchant, its API user and a customer with a balance of 80.00');

  say('Starting the service');
  const service = createService({ env, port, say });
  cleanups.push(() => service.stop());
  await service.start();
  if (!(await service.isReady())) throw new Error('The service did not become ready.');
  console.log(welcome(port, database.url));

  let restarting = Promise.resolve();
  builds.on('built', (ok) => {
    if (!ok) return;
    restarting = restarting.then(async () => {
      if (ending) return;
      say('The source has changed: restarting the service');
      await service.stop();
      await service.start();
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
