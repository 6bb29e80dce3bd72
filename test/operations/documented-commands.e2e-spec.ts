import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { adminProgram } from '../../src/operations/program.js';
import { makeTempFolder } from '../../tools/support/processes.mjs';
import { dayOf } from '../../src/platform/values/time.js';
import { aDocument, aMerchant, anOrder, type TestMerchant } from '../support/factories.js';
import { useAdmin } from '../support/use-admin.js';
import { rowsOf } from '../support/wallets.js';

const { service, admin } = useAdmin();

const DOCUMENT = '52998224725';
const pages = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.md'));

/** The commands of a page: in blocks, and in code within a sentence. */
const commandsOf = (file: string): string[] => {
  const text = readFileSync(file, 'utf8');
  const found = text.matchAll(/npm run (?:--silent )?admin -- ((?!…|--help)[^`\n]+)/g);
  return [...found].map(([, command = '']) => command.replace(/\s+#.*$/, '').trim());
};

const documented = new Set(['README.md', ...pages.map((page) => `docs/${page}`)].flatMap(commandsOf));
const examples = adminProgram().commands.map((group) => {
  let help = '';
  group.configureOutput({ writeOut: (text) => void (help += text) }).outputHelp();
  return /\nExample:\n +npm run admin -- (.*)/.exec(help)![1]!;
});

/** What deletes comes last, and then what makes another merchant: commands would need `--merchant`. */
const LAST = ['webhooks delete', 'customers erase', 'merchants create'];
const lateness = (command: string): number => LAST.findIndex((beginning) => command.startsWith(beginning));
const commands = [...new Set([...documented, ...examples])]
  .filter((command) => !command.endsWith('--help'))
  .sort((a, b) => lateness(a) - lateness(b));

let shop: TestMerchant;
let words: Record<string, string>;

/** What the documents speak of. */
beforeAll(async () => {
  shop = await aMerchant(service, { releaseDays: 0 });
  const users = ['ana@loja.example', 'caixa-3@loja.example'];
  const create = ['users', 'create', '--merchant', shop.id, '--permissions', 'sell,refund', '--name', 'Caixa'];
  for (const email of users) await admin.json(...create, '--email', email);
  const order = await shop.completed({ ...anOrder(), external_id: 'PED-1001', document: DOCUMENT });
  await shop.post(`/orders/${order.id}/refunds`, { external_id: 'DEV-1', amount: '1.00' });
  const grant = await shop.grant({ document: DOCUMENT, amount: '90.00' });
  await shop.debit({ document: DOCUMENT, external_id: 'FIX-1', amount: '5.00' });
  const today = dayOf(new Date(), 'America/Sao_Paulo');
  await shop.campaign({ name: 'Black Friday', from: today, through: today });
  // So that it has begun at midnight.
  await rowsOf(service, 'UPDATE policy_versions SET stored_at = stored_at - INTERVAL 2 DAY');
  const endpoint = await shop.post<{ id: string }>('/webhook-endpoints', { url: 'https://127.0.0.1/webhooks' });
  const file = path.join(makeTempFolder('cashback-documented'), 'credits.csv');
  writeFileSync(file, `document,amount,external_id\n${aDocument()},1.00,FILE-1\n`);
  words = {
    ...{ '<id>': shop.id, '<email>': 'caixa-3@loja.example', '<order>': 'PED-1001', '<endpoint>': endpoint.id },
    ...{ '<grant>': grant.id, '<wallet>': grant.wallet_id, 'credits.csv': file },
  };
});

describe('the commands of README.md, docs and the help', () => {
  it('the documents have commands of each group', () => {
    const groups = new Set(commands.map((command) => command.split(' ')[0]));
    expect([...groups].sort()).toEqual(
      adminProgram()
        .commands.map((group) => group.name())
        .sort(),
    );
    expect(documented.size).toBeGreaterThan(30);
  });

  it.each(commands)('`%s` works as it is written', async (command) => {
    const isTaken = command.startsWith('users create');
    const [line = '', input] = command.replace(/ > .*$/, '').split(' < ');
    const args = Array.from(line.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, plain = '']) => quoted ?? plain);
    const given = args.map((arg) => words[arg] ?? (isTaken ? arg.replace('@', `-${Date.now()}@`) : arg));
    const { code, stderr } = input === undefined ? await admin.run(...given) : await admin.built(given, DOCUMENT);
    expect({ code, stderr: stderr.replace(/^(note|warning): .*\n/gm, '') }).toEqual({ code: 0, stderr: '' });
  });
});
