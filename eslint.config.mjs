import js from '@eslint/js';
import jest from 'eslint-plugin-jest';
import tseslint from 'typescript-eslint';
import { importRules } from './eslint.imports.mjs';

export default tseslint.config(
  { ignores: ['**/dist/', 'connectors/', 'clients/typescript/src/generated/', 'coverage/', '.data/', 'node_modules/'] },
  js.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      eqeqeq: 'error',
    },
  },
  {
    files: ['src/**/*.ts', 'clients/**/*.ts', 'migrations/**/*.ts', 'tools/**/*.mjs', 'bench/**/*.mjs'],
    ignores: ['**/*.spec.ts'],
    rules: {
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 40, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    // One entry per problem is as long as the list of problems.
    files: ['src/platform/values/problem.ts'],
    rules: { 'max-lines': 'off' },
  },
  {
    // One statement per table is as long as the table.
    files: ['migrations/**/*.ts'],
    rules: { 'max-lines-per-function': 'off' },
  },
  {
    // Prettier wraps code, but not comments.
    files: ['**/*.ts'],
    rules: { 'max-len': ['error', { code: 1000, comments: 120, ignoreUrls: true }] },
  },
  ...importRules,
  {
    // Plain JavaScript is checked by the compiler through its JSDoc types.
    files: ['**/*.mjs'],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        fetch: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        setInterval: 'readonly',
        clearInterval: 'readonly',
        AbortController: 'readonly',
        AbortSignal: 'readonly',
        Buffer: 'readonly',
        performance: 'readonly',
      },
    },
  },
  {
    files: ['**/*spec.ts', 'test/**/*.ts'],
    ...jest.configs['flat/recommended'],
    rules: {
      ...jest.configs['flat/recommended'].rules,
      'jest/no-focused-tests': 'error',
      'jest/no-disabled-tests': 'error',
      'jest/expect-expect': [
        'error',
        { assertFunctionNames: ['expect*', '**.expect*', '**.refused', '**.replayed', '**.waitFor', '*AtOnce'] },
      ],
      '@typescript-eslint/no-floating-promises': ['error', { checkThenables: true }],
    },
  },
  {
    // What specs share expects, too.
    files: ['test/support/**/*.ts'],
    rules: { 'jest/no-standalone-expect': 'off' },
  },
);
