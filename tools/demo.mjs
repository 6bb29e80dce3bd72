// @ts-check
import { run } from './support/processes.mjs';

/** The login of the demo merchant. */
export const EMAIL = 'demo@example.com';
export const PASSWORD = 'demo-password-2026';
const DOCUMENT = '52998224725';

/**
 * Runs the admin CLI like an operator does.
 *
 * @param {NodeJS.ProcessEnv} env
 * @param {string[]} args
 * @returns {Promise<string>} its output
 * @throws if it fails; the message ends with its output
 */
async function admin(env, args) {
  const { ok, output } = await run(process.execPath, ['dist/src/admin.js', ...args], { env });
  if (!ok) throw new Error(`admin ${args.slice(0, 2).join(' ')} failed:\n${output.trimEnd()}`);
  return output;
}

/**
 * Creates a merchant, a customer with a balance, and an API user, unless an earlier start did. The user is created last:
 * if it exists, so does everything else. What an interrupted start has created is not completed, because the balance may
 * already be granted.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<boolean>} whether anything was created
 */
export async function seedDemo(env) {
  const users = (await admin(env, ['user', 'list'])).split('\n').filter((line) => line !== '');
  if (users.some((line) => JSON.parse(line).email === EMAIL)) return false;
  /** @type {{ id: string }} */
  const merchant = JSON.parse(await admin(env, ['merchant', 'create', '--name', 'Loja Demo']));
  const grant = ['--document', DOCUMENT, '--amount', '80.00', '--reason', 'demo balance'];
  await admin(env, ['cashback', 'grant', '--merchant', merchant.id, ...grant]);
  const user = ['--name', 'Demo', '--email', EMAIL, '--password', PASSWORD, '--allow', 'all'];
  await admin(env, ['user', 'create', '--merchant', merchant.id, ...user]);
  return true;
}

/**
 * Returns what to do next. The commands can be pasted into bash and zsh; zsh accepts no comments and expands an
 * exclamation mark.
 *
 * @param {number} port
 * @param {string} databaseUrl
 */
export function welcome(port, databaseUrl) {
  const base = `http://localhost:${port}`;
  return `
The service is ready. Ctrl-C stops it and everything that was started with it.

  Documentation   ${base}/docs
  Email           ${EMAIL}
  Password        ${PASSWORD}

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

The admin CLI on this database:

DATABASE_URL=${databaseUrl} npm run admin -- --help
`;
}
