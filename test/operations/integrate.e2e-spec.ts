import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { AdminCommandLine } from '../support/admin.js';
import { freePort } from '../support/built-service.js';
import { answersIn, brokenLinksIn, commandBlocksOf, type ShownAnswer } from '../support/pages.js';
import { describeIf } from '../support/requirements.js';
import { SANDBOX } from '../support/sandbox.js';
import { hasShell, Shell } from '../support/shell.js';
import { useBuiltService } from '../support/use-service.js';

const PAGES = ['docs/integrate.md', 'docs/pt-BR/integrar.md'];

/** A move of the clock that needs several requests prints several responses; the page shows the last. */
const isOfUnfinishedMove = ({ body }: ShownAnswer): boolean => (body as { done?: boolean }).done === false;

describe.each(PAGES)('%s', (page) => {
  it(`the links in ${page} lead to a file and a heading`, () => {
    expect(brokenLinksIn(page)).toEqual([]);
  });

  it(`the blocks of ${page} can be pasted into zsh, which accepts no comments and expands exclamation marks`, () => {
    const blocks = commandBlocksOf(page);
    expect(blocks.length).toBeGreaterThan(10);
    expect(blocks.filter(({ commands }) => /!|(?:^|\s)#/m.test(commands))).toEqual([]);
  });
});

describeIf(hasShell, `the commands of ${PAGES.join(' and ')}, because bash, curl or sed is missing`)(
  'a sandbox that an integrator has started',
  () => {
    const service = useBuiltService(SANDBOX);

    describe.each(PAGES)('pasting %s', (page) => {
      let shell: Shell;
      let port: string;

      beforeAll(async () => {
        shell = new Shell();
        port = String(await freePort());
      });
      afterAll(() => shell.end());

      const paste = (commands: string): Promise<string> =>
        shell.run(commands.replace('http://localhost:3000', service.url).replaceAll('8080', port));

      it.each(commandBlocksOf(page))('the commands at $page:$line print what the page shows', async (block) => {
        const output = await paste(block.commands);
        const lines = output.split(/(?<=\n)/).filter((line) => !/^\d{3} \{/.test(line));
        expect(lines.join('')).toBe(block.text ?? '');
        const answers =
          block.text === undefined ? answersIn(output).filter((answer) => !isOfUnfinishedMove(answer)) : [];
        const shown = block.answers.map(({ status, body }) => ({ status, body: withPort(body, port) }));
        expect({ output, answers }).toMatchObject({ output, answers: shown });
      });

      it(`the server of ${page} refuses a delivery with another secret, body or ID, and accepts the signed one`, async () => {
        const secret = (await shell.run('printf %s "$SECRET"')).trim();
        const ended = paste('receive 1');
        const url = `http://127.0.0.1:${port}`;
        while (!(await fetch(url, { method: 'POST', body: '{}' }).then(Boolean, () => false)));
        const body = JSON.stringify({ id: 'evt_1', type: 'order.created' });
        const send = async (key: string, changes: { id?: string; body?: string } = {}): Promise<number> => {
          const at = new Date();
          const signature = new Webhook(key).sign('evt_1', at, body);
          const headers = {
            'webhook-id': changes.id ?? 'evt_1',
            'webhook-timestamp': String(Math.floor(+at / 1000)),
            'webhook-signature': signature,
          };
          return (await fetch(url, { method: 'POST', headers, body: changes.body ?? body })).status;
        };
        const otherSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
        expect([
          await send(otherSecret),
          await send(secret, { body: `${body} ` }),
          await send(secret, { id: 'evt_2' }),
          await send(secret),
        ]).toEqual([400, 400, 400, 204]);
        expect(await ended).toBe('stored order.created\n');
      });
    });

    it('what the pages did leaves amounts that agree with the ledger', async () => {
      const admin = new AdminCommandLine(service);
      expect(await admin.json('reconcile')).toMatchObject({ findings: 0, warnings: [] });
    });
  },
);

/** Returns a response as the page shows it, with the port of this test. */
const withPort = (body: unknown, port: string): unknown =>
  JSON.parse(JSON.stringify(body).replaceAll(':8080', `:${port}`));
