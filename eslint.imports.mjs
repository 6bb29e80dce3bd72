// @ts-check

/** The modules of `src`, from the bottom up. A module imports only what is below it. */
const LAYERS = [
  ['common'],
  ['config'],
  ['database'],
  ['merchants'],
  ['cashback'],
  ['http', 'openapi'],
  ['logging', 'tracing', 'rate-limits'],
  ['metrics'],
  ['auth'],
  ['orders', 'wallets'],
  ['events'],
  ['webhooks', 'reports'],
  ['privacy'],
  ['reconcile', 'audit'],
  ['sweeps', 'sandbox'],
  ['health'],
  ['admin'],
];
/** Files that meet HTTP; all others, services above all, know neither `http`, `openapi` nor `metrics`. */
const EDGES = ['controller', 'dto', 'guard', 'interceptor', 'middleware', 'module', 'strategy'];

/**
 * @param {string[]} modules
 * @param {string} message
 */
const refuse = (modules, message) => ({ regex: `^(\\.\\./)+(${modules.join('|')})/`, message });
const noHttp = {
  regex: '^(@nestjs/(swagger|platform-express)|express|class-validator)$',
  message: 'Values and the money know no HTTP.',
};

/** What knows all modules: only the command line, which starts an application of its own, imports from there. */
const noTop = {
  regex: '^(\\.\\./)+((main|start|app\\.module|configure-app|schema)\\.js|migrations/)',
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

/** The import rules of docs/architecture.md. The later of two rules for a file replaces the earlier. */
export const importRules = LAYERS.flatMap((layer, at) => {
  const above = LAYERS.slice(at + 1).flat();
  return layer.flatMap((module) => {
    const beside = layer.filter((other) => other !== module);
    const upwards = [...above, ...beside].length > 0 ? [refuse([...above, ...beside], 'Nothing imports upwards.')] : [];
    const patterns = [
      ...upwards,
      ...(module === 'admin' ? [] : [noTop]),
      ...(['common', 'database', 'merchants', 'cashback'].includes(module) ? [noHttp] : []),
    ];
    const files = `src/${module}/**/*.ts`;
    const service = refuse(
      ['http', 'openapi', 'metrics'],
      'A service knows neither HTTP nor metrics; its controller does.',
    );
    return ['auth', 'orders', 'wallets', 'events', 'webhooks', 'reports', 'reconcile'].includes(module)
      ? [
          rule(files, patterns),
          rule(
            files,
            [...patterns, service],
            EDGES.flatMap((edge) => [`**/*.${edge}.ts`, '**/dto/**']),
          ),
        ]
      : [rule(files, patterns)];
  });
});
