// @ts-check
/** Lints the OpenAPI documents that tools/openapi.mjs has written. */
import { spawnSync } from 'node:child_process';

const FILES = ['dist/openapi.json', 'dist/openapi-sandbox.json'];

/** @type {[program: string, ...args: string[]][]} */
const LINTERS = [
  ['redocly', 'lint', ...FILES],
  ['spectral', 'lint', '--ruleset', '.spectral.yaml', '--fail-severity', 'hint', ...FILES],
];
// They would report their use and look for newer versions of themselves.
const env = {
  ...process.env,
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  SCARF_ANALYTICS: 'false',
};
for (const [program, ...args] of LINTERS) {
  const { status } = spawnSync(`node_modules/.bin/${program}`, args, { stdio: 'inherit', env });
  if (status !== 0) process.exit(status ?? 1);
}
