import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ApiUsersService } from '../../src/auth/api-users.service.js';
import { PERMISSIONS } from '../../src/platform/values/caller.js';
import { expectInvariants } from '../support/expectations.js';
import { aMerchant } from '../support/factories.js';
import { answersIn, commandBlocksOf } from '../support/pages.js';
import { describeIf } from '../support/requirements.js';
import { hasShell, Shell } from '../support/shell.js';
import { useService } from '../support/use-service.js';

/** What `npm start` creates. */
const DEMO = { email: 'demo@example.com', password: 'demo-password-2026', document: '52998224725', balance: '80.00' };

const BLOCKS = ['docs/checkout.md', 'docs/pt-BR/comecar.md'].flatMap(commandBlocksOf);

const describeShell = describeIf(
  hasShell,
  'the commands of docs/checkout.md and docs/pt-BR/comecar.md, because bash, curl or sed is missing',
);

describeShell('the pages to paste', () => {
  const { service, merchant } = useService({ merchant: (of) => aMerchant(of, { lateSaleDays: 3 }) });
  let shell: Shell;

  beforeAll(async () => {
    shell = new Shell();
    const user = { merchantId: merchant.id, name: 'Demo', email: DEMO.email, permissions: [...PERMISSIONS] };
    await service.app.get(ApiUsersService).create(user, DEMO.password);
    await merchant.credit(DEMO.document, DEMO.balance);
  });
  afterAll(() => shell.end());

  /** Runs commands of the documentation on this service. The service's clock moves where a reader waits. */
  async function paste(commands: string): Promise<string> {
    let output = '';
    const parts = commands.replace('BASE=http://localhost:3000\n', `BASE=${service.url}\n`).split(/^sleep (\d+)$/m);
    for (const [index, part] of parts.entries()) {
      if (index % 2 === 0) output += await shell.run(part);
      else await service.clock.advance({ seconds: Number(part) });
    }
    return output;
  }

  it('the first order of README.md has the cashback that the README shows and is the same order when it is sent again', async () => {
    const [, commands = '', shown = ''] =
      /^## A first order$.*?^```sh\n(.*?)^```$.*?^```json\n(.*?)^```$/ms.exec(readFileSync('README.md', 'utf8')) ?? [];
    for (const isReplayed of [false, true]) {
      const output = await paste(commands);
      expect(output).toMatch(/^HTTP\/1\.1 201 /m);
      expect(output.includes('Idempotency-Replayed: true')).toBe(isReplayed);
      const { cashback } = JSON.parse(output.slice(output.indexOf('{'))) as { cashback: object };
      expect({ cashback }).toMatchObject(JSON.parse(`{${shown.replaceAll(/, ("\w+": "…"|…)/g, '')}}`) as object);
    }
  });

  it.each(BLOCKS)('the commands at $page:$line have the responses that the page shows', async (block) => {
    const output = await paste(block.commands);
    const answers = answersIn(output);
    expect({ output, answers }).toMatchObject({ output, answers: block.answers });
    // The block prints only responses, and the page shows each of them.
    expect(output.split('\n').filter((line) => line !== '' && !/^\d{3} \{/.test(line))).toEqual([]);
  });

  it('the responses of these pages leave amounts that agree with the ledger', () => expectInvariants(service));
});
