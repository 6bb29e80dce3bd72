import { availableParallelism } from 'node:os';

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
