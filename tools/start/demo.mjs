// @ts-check
import { run } from '../support/processes.mjs';

const EMAIL = 'demo@example.com';
const PASSWORD = 'demo-password-2026';
const DOCUMENT = '52998224725';

/**
 * Runs the operator's command line, as an operator would.
 *
 * @param {NodeJS.ProcessEnv} env
 * @param {string[]} args
 * @returns {Promise<any>} what it printed
 * @throws if it fails; the message ends with what it said
 */
async function admin(env, args) {
  const { ok, output } = await run(process.execPath, ['dist/src/admin.js', ...args], { env });
  if (!ok) throw new Error(`admin ${args.slice(0, 2).join(' ')} failed:\n${output.trimEnd()}`);
  return JSON.parse(output);
}

/**
 * Creates a merchant, a customer with a balance, and an API user, unless an earlier start did. The user comes last: if
 * it is there, so is all the rest. What a start that was interrupted had made is left alone rather than completed, as
 * it can't be told whether the balance was already granted.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<boolean>} whether anything was made
 */
export async function seedDemo(env) {
  /** @type {{ email: string }[]} */
  const users = await admin(env, ['user', 'list']);
  if (users.some((user) => user.email === EMAIL)) return false;
  /** @type {{ id: string }} */
  const merchant = await admin(env, ['merchant', 'create', '--name', 'Loja Demo']);
  const grant = ['--document', DOCUMENT, '--amount', '80.00', '--reason', 'demo balance'];
  await admin(env, ['cashback', 'grant', '--merchant', merchant.id, ...grant]);
  await admin(env, ['user', 'create', '--merchant', merchant.id, '--email', EMAIL, '--password', PASSWORD]);
  return true;
}

/**
 * What a newcomer needs next. The commands work as pasted in bash and in zsh, which takes no comments and whose
 * history would expand an exclamation mark.
 *
 * @param {number} port
 * @param {string} databaseUrl
 */
export function welcome(port, databaseUrl) {
  const base = `http://localhost:${port}`;
  return `
The service is ready. Ctrl-C stops it and all that was started with it.

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

The operator's command line, on this database:

DATABASE_URL=${databaseUrl} npm run admin -- --help
`;
}
