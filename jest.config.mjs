import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';

// The short set: what `npm test` runs beside the unit tests, in less than three minutes on two cores. About one file per
// resource, because each file loads the modules of the service again. `npm run test:all` runs every file, listed or not.
const SHORT = [
  'auth/login',
  'auth/users',
  'back-office/session',
  'cashback/customers',
  'cashback/grants',
  'cashback/model',
  'cashback/privacy',
  'cashback/reconcile',
  'cashback/wallets',
  'events/order-events',
  'operations/commands',
  'operations/openapi',
  'operations/problems',
  'orders/complete',
  'orders/orders-create',
  'orders/policy',
  'orders/redemption',
  'orders/refund',
  'reports/ledger',
  'sandbox/scenarios',
  'webhooks/endpoints',
  'webhooks/secrets',
].map((name) => `test/${name}.e2e-spec.ts`);

// Otherwise, a file that was renamed would be missing without a word.
const missing = SHORT.filter((file) => !existsSync(path.join(import.meta.dirname, file)));
if (missing.length > 0) throw new Error(`The short set in jest.config.mjs has files that do not exist: ${missing}`);

// Nest 12 is ES modules only, so Jest runs with --experimental-vm-modules and SWC emits ES modules
// with the decorator metadata that Nest, TypeORM and class-transformer read.
const shared = {
  testEnvironment: 'node',
  // Decorators write metadata when a module is loaded, so this comes before any module of the service.
  setupFiles: ['reflect-metadata'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          target: 'es2023',
          keepClassNames: true,
        },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
};

const e2e = { ...shared, testMatch: ['**/*.e2e-spec.ts'] };

export default {
  // High, because a slow machine must not fail a test. A hook that times out leaves behind what it started.
  testTimeout: 300_000,
  // More than there are processors, because many tests wait: for locks, for time limits, for the edge.
  maxWorkers: availableParallelism() + 1,
  // Each file leaves modules behind in its process.
  workerIdleMemoryLimit: '1.5GB',
  projects: [
    { ...shared, displayName: 'unit', roots: ['<rootDir>/src'], testMatch: ['**/*.spec.ts'] },
    { ...e2e, displayName: 'short', roots: ['<rootDir>/test'], testMatch: SHORT.map((file) => `<rootDir>/${file}`) },
    {
      ...e2e,
      displayName: 'e2e',
      roots: ['<rootDir>/test'],
      testPathIgnorePatterns: ['<rootDir>/test/(edge|endurance)/'],
    },
    { ...shared, displayName: 'edge', roots: ['<rootDir>/test'], testMatch: ['**/test/edge/*.e2e-spec.ts'] },
    { ...e2e, displayName: 'endurance', roots: ['<rootDir>/test/endurance'] },
  ],
};
