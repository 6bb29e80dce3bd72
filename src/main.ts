import { loadProcessConfig, readEnvFile } from './platform/config/config.js';
import { startTracing } from './platform/observe/tracing.js';

/** Starts the service. With `--check-config`, it only checks the environment variables. */
async function run(): Promise<void> {
  if (process.argv.includes('--check-config')) return void loadProcessConfig();
  readEnvFile();
  await startTracing(process.env);
  // Imported here: tracing has to patch modules before they load.
  const { start } = await import('./app.module.js');
  await start();
}

run().catch((error: unknown) => {
  // A configuration error's message is complete without the stack.
  console.error(error instanceof Error && error.name === 'ConfigError' ? error.message : error);
  process.exit(1);
});
