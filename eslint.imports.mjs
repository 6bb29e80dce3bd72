// @ts-check

/** The modules of `src`, from the bottom up, and the folders of `platform`. A module imports only from those before it. */
const MODULES = ['platform', 'merchants', 'auth', 'cashback', 'orders', 'events', 'reports', 'sandbox', 'operations'];
const PLATFORM = ['values', 'config', 'database', 'rate-limits', 'openapi', 'http', 'observe'];
/** Files that meet HTTP; all others, services above all, know no HTTP, OpenAPI or metrics. */
const EDGES = ['controller', 'dto', 'guard', 'interceptor', 'module'];

/**
 * @param {string[]} modules
 * @param {string} message
 */
const refuse = (modules, message) => ({ regex: `^(\\.\\./)+(${modules.join('|')})/`, message });
const noHttp = {
  regex: '^(@nestjs/(swagger|platform-express)|express|class-validator)$',
  message: 'Values, the database and the money know no HTTP.',
};

const noEdges = {
  regex: '^(\\.\\./)+platform/(http/(?!by\\.dto)|openapi/|observe/)',
  message: 'A service knows neither HTTP nor metrics; its controller does.',
};

/** What knows all modules: only the command line, which starts an application of its own, imports from there. */
const noTop = {
  regex: '^(\\.\\./)+((main|app\\.module|schema)\\.js|migrations/)',
  message: 'Nothing imports upwards.',
};

/**
 * @param {string} files
 * @param {object[]} patterns
 * @param {string[]} ignores
 */
const rule = (files, patterns, ignores = []) => ({
  files: [files],
  ignores: [...ignores, '**/*.spec.ts'],
  rules: { 'no-restricted-imports': /** @type {[2, { patterns: object[] }]} */ ([2, { patterns }]) },
});

const edges = EDGES.map((edge) => `**/*.${edge}.ts`);

/** @param {string} module @param {number} at @returns {object[]} */
const upwardsOf = (module, at) => [
  ...(at + 1 < MODULES.length ? [refuse(MODULES.slice(at + 1), 'Nothing imports upwards.')] : []),
  ...(module === 'operations' ? [] : [noTop]),
];

/** The import rules of docs/architecture.md. The later of two rules for a file replaces the earlier. */
export const importRules = [
  ...MODULES.flatMap((module, at) => {
    const patterns = upwardsOf(module, at);
    const isOfServices = !['platform', 'sandbox', 'operations'].includes(module);
    const inServices = [...patterns, noEdges, ...(['merchants', 'cashback'].includes(module) ? [noHttp] : [])];
    const files = `src/${module}/**/*.ts`;
    return [rule(files, patterns), ...(isOfServices ? [rule(files, inServices, edges)] : [])];
  }),
  ...PLATFORM.map((folder, at) => {
    const above = PLATFORM.slice(at + 1);
    const upwards = above.length > 0 ? [refuse(above, 'Nothing imports upwards.')] : [];
    const isPlain = ['values', 'database'].includes(folder);
    return rule(`src/platform/${folder}/**/*.ts`, [
      ...upwardsOf('platform', 0),
      ...upwards,
      ...(isPlain ? [noHttp] : []),
    ]);
  }),
];
