// @ts-check
import { createInterface } from 'node:readline';
import { startGuarded } from './support/guarded-process.mjs';

/** The login of the owner of the demo merchant. Its other users have the same password. */
export const EMAIL = 'demo@example.com';
export const PASSWORD = 'demo-password-2026';
/** The customer of the README, who has exactly 80.00. */
export const DOCUMENT = '52998224725';

const TILL = ['sell', 'refund', 'late_sales'];

/** The API users of the demo merchant, beside its owner. `docs/roles.md` says who needs which permissions. */
export const STAFF = [
  { name: 'Caixa 1', email: 'caixa-1@example.com', permissions: TILL },
  { name: 'Caixa 3', email: 'caixa-3@example.com', permissions: TILL },
  { name: 'Caixa 5', email: 'caixa-5@example.com', permissions: TILL },
  { name: 'Caixa 8', email: 'caixa-8@example.com', permissions: TILL },
  { name: 'Loja virtual', email: 'loja-virtual@example.com', permissions: TILL },
  { name: 'Atendimento', email: 'atendimento@example.com', permissions: ['refund', 'customers', 'grants', 'reports'] },
  {
    name: 'Gerente',
    email: 'gerente@example.com',
    permissions: ['refund', 'customers', 'grants', 'debits', 'reports'],
  },
  { name: 'Financeiro', email: 'financeiro@example.com', permissions: ['reports'] },
  { name: 'Marketing', email: 'marketing@example.com', permissions: ['grants', 'rules', 'events', 'reports'] },
];

/** One login for each set of permissions. */
const LOGINS = [
  EMAIL,
  'caixa-3@example.com',
  'atendimento@example.com',
  'gerente@example.com',
  'financeiro@example.com',
  'marketing@example.com',
];

/**
 * Creates the demo merchant with a year of orders, unless an earlier start did. It is a process of its own, because it
 * loads the built service, which changes while `npm start` runs.
 *
 * @param {NodeJS.ProcessEnv} env that of the service
 * @param {(line: string) => void} [say] prints what is done
 * @param {(seeding: import('./support/guarded-process.mjs').Guarded) => void} [onStart] may end it early
 * @throws if it fails, after its errors are printed
 */
export async function seedDemo(env, say = () => undefined, onStart = () => undefined) {
  const args = ['--enable-source-maps', 'tools/demo-history.mjs'];
  const seeding = await startGuarded({ command: process.execPath, args, env, output: 'pipe' });
  onStart(seeding);
  createInterface({ input: /** @type {import('node:stream').Readable} */ (seeding.stdout) }).on('line', say);
  if ((await seeding.exited) !== 0) throw new Error('The demo data could not be created.');
}

/**
 * Returns what to do next. The commands can be pasted into bash and zsh; zsh accepts no comments and expands an
 * exclamation mark.
 *
 * @param {number} port
 * @param {string} databaseUrl
 * @param {string} jwtSecret
 */
export function welcome(port, databaseUrl, jwtSecret) {
  const base = `http://localhost:${port}`;
  const logins = LOGINS.map((email) => {
    const permissions = STAFF.find((user) => user.email === email)?.permissions.join(', ') ?? 'all permissions';
    return `  ${email.padEnd(28)}${permissions}`;
  });
  return `
The service is ready. It is a sandbox: docs/integrate.md has a merchant of your own and a year to see.
Ctrl-C stops it and everything that was started with it.

  Back office     ${base}/back-office
  Swagger UI      ${base}/docs
  Password        ${PASSWORD}, for each of these emails:

${logins.join('\n')}

Log in, then create an order (paste both):

BASE=${base}

TOKEN=$(curl -s $BASE/auth/login -H 'content-type: application/json' \\
  -d '{"email":"${EMAIL}","password":"${PASSWORD}"}' | sed 's/.*"access_token":"//; s/".*//')

curl -i $BASE/orders -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' -d '{
  "external_id": "PED-'"$(date +%s)"'",
  "document": "${DOCUMENT}",
  "total": "150.00",
  "items": [{ "id": "sku-1", "price": "150.00", "description": "Café em grãos" }],
  "payment_methods": [{ "id": "credit_card", "amount": "150.00" }]
}'; echo

Next, paste the blocks of docs/checkout.md: a whole sale. To see its events as webhooks, in another terminal:

PORT=${port} npm run webhooks:listen

The command line on this database (paste both):

export NODE_ENV=development WEBHOOK_ALLOW_PRIVATE=true DATABASE_URL=${databaseUrl} JWT_SECRET=${jwtSecret}
npm run admin -- --help
`;
}
