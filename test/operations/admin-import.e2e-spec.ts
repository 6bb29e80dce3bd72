import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Outcome } from '../support/build.js';
import { atOnce } from '../support/client.js';
import { expectInvariants } from '../support/expectations.js';
import { aCnpj, aDocument, aMerchant, punctuated, type TestMerchant } from '../support/factories.js';
import { useAdmin } from '../support/use-admin.js';
import { rowsOf } from '../support/wallets.js';

const { service, admin } = useAdmin();
let merchant: TestMerchant;
let folder: string;

beforeAll(async () => {
  merchant = await aMerchant(service);
  folder = await mkdtemp(path.join(tmpdir(), 'credits-'));
});
afterAll(() => rm(folder, { recursive: true }));

const HEADER = 'document,amount,external_id,available_on,expires_on';
let counter = 0;

async function aFile(lines: (string | Buffer)[]): Promise<string> {
  const file = path.join(folder, `${++counter}.csv`);
  await writeFile(file, Buffer.concat(lines.flatMap((line) => [Buffer.from(line as string), Buffer.from('\n')])));
  return file;
}

const command = (file: string, shop: { id: string } = merchant): string[] => [
  'grants',
  'import',
  '--merchant',
  shop.id,
  '--file',
  file,
];

interface Imported {
  code: number;
  bad: { line: number; external_id: string; errors: string[] }[];
  summary: { granted: number; existing: number };
}

/** Runs the command. @returns its exit code, the bad lines, and the summary. */
async function importFile(file: string, shop = merchant, ...options: string[]): Promise<Imported> {
  return outcomeOf(await admin.run(...command(file, shop), ...options));
}

function outcomeOf({ code, stdout, stderr }: Outcome): Imported {
  // On a slow machine there is progress to report.
  expect(stderr).toMatch(/^(\d+ % read: .*\n)*$/);
  const printed = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  // The sum has a test of its own.
  const { granted_amount: _, ...summary } = printed.pop() as Record<string, unknown>;
  return { code, summary, bad: printed } as unknown as Imported;
}

const aLine = (members: Record<string, string> = {}): string =>
  Object.values({
    document: aDocument(),
    amount: '10.00',
    external_id: `MIGRATED-${++counter}`,
    available_on: '',
    expires_on: '',
    ...members,
  }).join(',');

describe('`grants import`', () => {
  it('`grants import` grants each line of a file with its dates', async () => {
    const [first, second] = [aDocument(), aDocument()];
    const file = await aFile([
      HEADER,
      aLine({ document: first, amount: '80', external_id: 'IMPORT-1' }),
      aLine({ document: first, amount: '0.5', external_id: '"IMPORT ""2"", ção 🎁"', available_on: '2097-12-31' }),
      '',
      aLine({ document: second, amount: '7.00', external_id: 'IMPORT-3', expires_on: '2098-12-31' }),
    ]);
    expect(await importFile(file)).toEqual({
      code: 0,
      bad: [],
      summary: { lines: 3, granted: 3, existing: 0, bad: 0 },
    });
    expect(await merchant.wallet(first)).toMatchObject({ available: '80.00', pending: '0.50' });
    expect(await merchant.wallet(second)).toMatchObject({
      available: '7.00',
      next_expiry: { amount: '7.00', at: '2099-01-01T03:00:00.000Z' },
    });
    const rows = await rowsOf(service, 'SELECT external_id FROM cashback_grants WHERE merchant_id = ?', [merchant.id]);
    expect(rows.map(({ external_id }) => String(external_id)).sort()).toEqual([
      'IMPORT "2", ção 🎁',
      'IMPORT-1',
      'IMPORT-3',
    ]);
    await expectInvariants(service);
  });

  it('`grants import` grants cashback to a CNPJ once, and reports one in lower case', async () => {
    const document = aCnpj();
    const file = await aFile([HEADER, aLine({ document }), aLine({ document: document.toLowerCase() })]);
    for (const outcome of [{ granted: 1 }, { existing: 1 }]) {
      const { code, bad, summary } = await importFile(file);
      expect({ code, bad }).toMatchObject({
        code: 1,
        bad: [{ line: 3, errors: [expect.stringMatching(/^document /)] }],
      });
      expect(summary).toMatchObject({ lines: 2, bad: 1, ...outcome });
    }
    expect((await merchant.wallet(document)).available).toBe('10.00');
  });

  it('`grants import` changes nothing the second time, and grants only the new lines of a longer file', async () => {
    const lines = Array.from({ length: 120 }, () => aLine());
    expect((await importFile(await aFile([HEADER, ...lines.slice(0, 70)]))).summary).toMatchObject({ granted: 70 });
    const whole = await aFile([HEADER, ...lines]);
    expect((await importFile(whole)).summary).toEqual({ lines: 120, granted: 50, existing: 70, bad: 0 });
    const entries = 'SELECT COUNT(*) AS number FROM cashback_entries';
    const [before] = await rowsOf(service, entries);
    expect((await importFile(whole)).summary).toEqual({ lines: 120, granted: 0, existing: 120, bad: 0 });
    expect(await rowsOf(service, entries)).toEqual([before]);
    await expectInvariants(service);
  });

  it('two concurrent runs of `grants import` grant each line once', async () => {
    const documents = [aDocument(), aDocument(), aDocument()];
    const lines = Array.from({ length: 150 }, (_, at) => aLine({ document: documents[at % 3]!, amount: '1.00' }));
    const file = await aFile([HEADER, ...lines]);
    const runs = (await atOnce(2, () => admin.built(command(file)))).map(outcomeOf);
    expect(runs.map(({ code, bad }) => ({ code, bad }))).toEqual([
      { code: 0, bad: [] },
      { code: 0, bad: [] },
    ]);
    expect(runs[0]!.summary.granted + runs[1]!.summary.granted).toBe(150);
    expect(runs[0]!.summary.existing + runs[1]!.summary.existing).toBe(150);
    for (const document of documents) expect((await merchant.wallet(document)).available).toBe('50.00');
    await expectInvariants(service);
  });

  it('`grants import` reports every bad line with its number and the reason, grants all others, and exits with 1', async () => {
    await merchant.credit(aDocument(), '1.00');
    const good = Array.from({ length: 3 }, (_, at) => aLine({ external_id: `GOOD-${at}` }));
    const repeated = aLine({ external_id: 'TWICE' });
    const file = await aFile([
      `\ufeff${HEADER}`,
      good[0]!, // 2
      aLine({ document: '1234', amount: '-1.00', external_id: 'BAD-1' }),
      aLine({ amount: '"1,234.56"', external_id: 'BAD-2' }),
      aLine({ external_id: '' }),
      aLine({ external_id: 'BAD-3', available_on: '31/02/2026' }),
      aLine({ external_id: 'BAD-4', expires_on: '2020-01-01' }),
      'one,two', // 8
      `${aLine()},more`,
      '5299"8224725,10.00,STRAY,,', // 10
      good[1]!,
      Buffer.from('52998224725,10.00,caf\xe9,,', 'latin1'), // 12
      'x'.repeat(1_000_000),
      repeated, // 14
      repeated,
      repeated.replace('10.00', '11.00'), // 16
      `${good[2]}\r`,
      aLine({ external_id: 'BAD\r5' }), // 18
    ]);
    const { code, bad, summary } = await importFile(file);
    expect(code).toBe(1);
    bad.sort((a, b) => a.line - b.line);
    expect(bad.map(({ line, external_id, errors }) => [line, external_id, ...errors])).toEqual([
      [3, 'BAD-1', expect.stringMatching(/^document must/), expect.stringMatching(/^amount must/)],
      [4, 'BAD-2', expect.stringMatching(/^amount must/)],
      [5, undefined, 'external_id is required'],
      [6, 'BAD-3', expect.stringMatching(/^available_on must/)],
      [7, 'BAD-4', expect.stringMatching(/^expires_on must/)],
      [8, undefined, 'has 2 fields instead of 5'],
      [9, undefined, 'has 6 fields instead of 5'],
      [10, undefined, 'a text has a quote and is not in quotes'],
      [12, undefined, 'is not UTF-8 like the lines before it'],
      [13, undefined, 'is longer than 65536 bytes'],
      [16, 'TWICE', 'amount differs from line 14'],
      [18, undefined, 'a text has a line break'],
    ]);
    expect(summary).toEqual({ lines: 17, granted: 4, existing: 1, bad: 12 });
    expect(JSON.stringify(bad)).not.toContain('1234');
    await expectInvariants(service);
  });

  it('`grants import` never reads text in quotes as a line', async () => {
    const [victim, attacker, next] = [aDocument(), aDocument(), aDocument()];
    const attack = `${attacker},900.00,ATTACK,free money`;
    const file = await aFile([
      'document,amount,external_id,note',
      `${victim},10.00,QUOTED-1,"thanks`, // 2
      attack,
      '"',
      `${next},10.00,QUOTED-2,"a ""quote"" in quotes"`,
      `${victim},10.00,QUOTED-3,"thanks\r`, // 6
      `${attack}\r`,
      '""\r',
      '"""\r',
      `${victim},10.00,QUOTED-4,"thanks\r${attack}\r"`, // 10
      `${victim},10.00,QUOTED-5,"thanks\u2028${attack}\u2028"`,
      `${victim},10.00,QUOTED-6, "thanks`, // 12
      `${attack}"`,
    ]);
    const errors = [
      { line: 2, errors: ['lines 2 to 4 are one record: a text has a line break'] },
      { line: 6, errors: ['lines 6 to 9 are one record: a text has a line break'] },
      { line: 10, errors: ['a text has a line break'] },
      { line: 11, errors: ['a text has a line break'] },
      { line: 12, errors: ['lines 12 to 13 are one record: a text has a line break'] },
    ];
    expect(await importFile(file, merchant, '--dry-run')).toEqual({
      ...{ code: 1, bad: errors },
      summary: { lines: 6, would_grant: 1, would_grant_amount: '10.00', existing: 0, bad: 5 },
    });
    for (const granted of [1, 0])
      expect(await importFile(file)).toEqual({
        ...{ code: 1, bad: errors },
        summary: { lines: 6, granted, existing: 1 - granted, bad: 5 },
      });
    for (const document of [victim, attacker]) expect((await merchant.wallet(document)).id).toBeNull();
    expect(await merchant.wallet(next)).toMatchObject({ available: '10.00' });
  });

  const MANY = Array.from({ length: 2500 }, () => '52998224725,1.00,IN-QUOTES,and more');

  it.each([
    ['a quote that is not closed', ['52998224725,10.00,OPEN-1,"thanks'], 'line 203: a quote is not closed within'],
    ['a quote that is closed too late', ['52998224725,10.00,OPEN-2,"thanks', ...MANY, '"'], 'line 203: a quote is not'],
    ['quotes in quotes', ['52998224725,10.00,OPEN-3,"so "nice""'], 'line 203: text follows a closed quote'],
  ])('`grants import` grants nothing of a file with %s', async (_title, lines, refusal) => {
    const shop = await aMerchant(service);
    const good = Array.from({ length: 201 }, (_, at) => `${aDocument()},1.00,GOOD-${at},`);
    const file = await aFile(['document,amount,external_id,note', ...good, ...lines, ...good]);
    for (const options of [['--dry-run'], []])
      expect(await admin.refusal(...command(file, shop), ...options)).toContain(refusal);
    expect(await rowsOf(service, 'SELECT id FROM wallets WHERE merchant_id = ?', [shop.id])).toEqual([]);
  });

  it('`grants import` grants once what is the same without the blanks around it', async () => {
    const document = aDocument();
    const spellings = ['BLANK-1', ' BLANK-1', 'BLANK-1\t', '\u00a0BLANK-1\u2003', '\ufeffBLANK-1', '" BLANK-1 "'];
    const lines = spellings.map((id) => `${document} ,10.00,${id},\u00a0late , SP-014 `);
    const file = await aFile(['document,amount,external_id,reason,store', ...lines]);
    expect((await importFile(file)).summary).toEqual({ lines: 6, granted: 1, existing: 5, bad: 0 });
    const content = { external_id: 'BLANK-1', document, amount: '10.00', reason: 'late', store: 'SP-014' };
    expect((await merchant.client.post('/grants', content)).headers.get('idempotency-replayed')).toBe('true');
    expect((await merchant.wallet(document)).available).toBe('10.00');
  });

  it('`grants import` refuses invisible and control characters, and bytes without a meaning', async () => {
    const head = 'document,amount,external_id,reason,note,store,metadata.till';
    const line = (...rest: string[]): string =>
      [aDocument(), '1.00', ...rest, ...['', '', '', '', ''].slice(rest.length)].join(',');
    const file = await aFile([
      head,
      line('\u200bINVISIBLE-1'), // 2
      line('INVISIBLE\u00ad-2'),
      line('..'), // 4
      line('INVISIBLE-3', 'late\u200e'),
      line('INVISIBLE-4', 'a\0b', 'a\u0007', 'SP\u200d1', 'a\u001b'), // 6
      line('INVISIBLE-5', '👩\u200d💻 ok', '👩\u200d💻', 'SP 1', 'x\ty'),
    ]);
    const { bad, summary } = await importFile(file);
    expect(bad.map(({ line: number, errors }) => [number, ...errors.sort()])).toEqual([
      [2, 'external_id must not begin or end with blanks or invisible characters (U+200B)'],
      [3, 'external_id must not have invisible characters (U+00AD)'],
      [4, 'external_id must not be "." or ".."'],
      [5, 'reason must not begin or end with blanks or invisible characters (U+200E)'],
      [
        6,
        'metadata has the member "till", which must not have control characters (U+001B)',
        'note must not have control characters (U+0007)',
        'reason must not have control characters (U+0000)',
        'store must not have invisible characters (U+200D)',
      ],
    ]);
    expect(summary).toMatchObject({ granted: 1, bad: 5 });
    const ids = ['BYTE-\x81', 'BYTE-\x8d', 'BYTE-\x8f', 'BYTE-\x90', 'BYTE-\x9d', 'BYTE-\x80\xe9'];
    const other = await aFile([head, ...ids.map((id) => line(id))].map((text) => Buffer.from(text, 'latin1')));
    expect(await importFile(other)).toMatchObject({
      bad: [2, 3, 4, 5, 6].map((number) => ({
        line: number,
        errors: ['has a byte that Windows-1252 does not define'],
      })),
      summary: { granted: 1, bad: 5 },
    });
    const rows = await rowsOf(service, "SELECT external_id FROM cashback_grants WHERE external_id LIKE 'BYTE-%'");
    expect(rows.map(({ external_id }) => String(external_id))).toEqual(['BYTE-€é']);
  });

  it('`grants import` grants what it has checked, also if the file is saved meanwhile', async () => {
    const shop = await aMerchant(service);
    const lines = Array.from({ length: 3000 }, (_, at) => `${aDocument()},1.00,SAVED-${at}`);
    const file = await aFile(['document,amount,external_id', ...lines]);
    const importing = importFile(file, shop);
    while ((await rowsOf(service, 'SELECT id FROM wallets WHERE merchant_id = ? LIMIT 1', [shop.id])).length === 0);
    const other = `${lines.slice(0, 10).join('\n')}\n52998224725,"900.00,SAVED-X\n`;
    await writeFile(file, `document,amount,external_id\n${other}`);
    expect(await importing).toMatchObject({ code: 0, bad: [], summary: { granted: 3000, existing: 0 } });
  });

  it.each(['5.2998224725E10', '5,2998224725E10', '1234567890.0', '1222333000181.0', '529982247.25', '52998224725.0'])(
    '`grants import` refuses the document %j, which a program took for a number',
    async (text) => {
      const file = await aFile(['document;amount;external_id', `${text};1.00;NUMBER-${++counter}`]);
      const { bad, summary } = await importFile(file);
      expect(bad[0]!.errors).toEqual([expect.stringContaining('a spreadsheet may have changed it')]);
      expect(summary).toMatchObject({ granted: 0 });
    },
  );

  it('`grants import` grants nothing of a file with CRLF and a text that has LF and no quotes', async () => {
    const shop = await aMerchant(service);
    const file = await aFile([
      ...['document;amount;external_id;note\r', '52998224725;1,00;LF-1;the customer asked'],
      ...['11144477735;900,00;LF-2;x\r', '52998224725;1,00;LF-3;ok\r'],
    ]);
    for (const options of [['--dry-run'], []])
      expect(await admin.refusal(...command(file, shop), ...options)).toContain('line 2: ends with LF and not CRLF');
    expect(await rowsOf(service, 'SELECT id FROM wallets WHERE merchant_id = ?', [shop.id])).toEqual([]);
  });

  it('`grants import` grants once what has the same accents in one or two characters', async () => {
    const document = aDocument();
    const file = await aFile(['document,amount,external_id', `${document},1.00,P\u00c9-1`]);
    const other = await aFile(['document,amount,external_id', `${document},1.00,PE\u0301-1`]);
    expect((await importFile(file)).summary).toMatchObject({ granted: 1, existing: 0 });
    expect((await importFile(other)).summary).toMatchObject({ granted: 0, existing: 1 });
  });

  it('`grants import` warns of external IDs that look the same, and grants each', async () => {
    const shop = await aMerchant(service);
    const ids = ['OLD-1', 'old-1', 'OLD\u20111', 'ＯＬＤ-1', 'OLD-1', 'OLD-2'];
    const file = await aFile(['document,amount,external_id', ...ids.map((id) => `52998224725,1.00,${id}`)]);
    const warning = 'warning: 3 lines, the first of them line 3, have an external_id that looks like the different one';
    const dry = await admin.run(...command(file, shop), '--dry-run');
    const { stdout, stderr } = await admin.run(...command(file, shop));
    for (const said of [dry.stderr, stderr]) expect(said).toContain(warning);
    expect(stdout).toContain('"granted":5,"granted_amount":"5.00","existing":1,"bad":0');
    expect((await shop.wallet('52998224725')).available).toBe('5.00');
  });

  it('`grants import` reads documents with the dashes, blanks and wide digits of other programs', async () => {
    const document = aDocument();
    const wide = [...document].map((digit) => String.fromCodePoint(0xff10 + Number(digit))).join('');
    const dashed = `\u202a${document.slice(0, 9)}\u2011${document.slice(9)}\u202c`;
    const spaced = `${document.slice(0, 3)}\u00a0${document.slice(3, 9)}\u200b\u2212${document.slice(9)}`;
    const lines = [wide, dashed, spaced].map((text) => `${text},1.00,${document}`);
    const { summary } = await importFile(await aFile(['document,amount,external_id', ...lines]));
    expect(summary).toMatchObject({ granted: 1, existing: 2 });
    expect((await merchant.wallet(document)).available).toBe('1.00');
  });

  it('`grants import` grants the first line of the file with an external_id, replays equal ones and refuses others', async () => {
    const known = aDocument();
    await merchant.credit(known, '1.00');
    const fresh = Array.from({ length: 20 }, () => aDocument());
    const lines = fresh.flatMap((document, at) => [
      aLine({ document, amount: '80.00', external_id: `RACE-${at}` }),
      aLine({ document, amount: '80.50', external_id: `RACE-OTHER-${at}` }),
      aLine({ document: known, amount: '10.00', external_id: `RACE-${at}` }),
      aLine({ document, amount: '80', external_id: `RACE-${at}` }),
    ]);
    const { bad, summary } = await importFile(await aFile([HEADER, ...lines]));
    bad.sort((one, other) => one.line - other.line);
    expect(bad).toEqual(
      fresh.map((_, at) => {
        const errors = ['document', 'amount'].map((member) => `${member} differs from line ${4 * at + 2}`);
        return { line: 4 * at + 4, external_id: `RACE-${at}`, errors };
      }),
    );
    expect(summary).toEqual({ lines: 80, granted: 40, existing: 20, bad: 20 });
    expect((await merchant.wallet(known)).available).toBe('1.00');
    for (const document of fresh) expect((await merchant.wallet(document)).available).toBe('160.50');
  });

  it('`grants import` compares a line with the first one without errors, and with a grant that existed before', async () => {
    await merchant.grant({ external_id: 'BEFORE', document: '52998224725', amount: '3.00' });
    const [past, later] = [{ external_id: 'PAST' }, { external_id: 'BEFORE', document: '52998224725' }];
    const file = await aFile([
      HEADER,
      aLine({ ...past, expires_on: '2020-01-01' }),
      aLine({ ...past, document: '52998224725' }), // 3
      aLine({ ...past, document: '11144477735' }),
      aLine({ ...later, amount: '4.00' }), // 5
      aLine({ ...later, amount: '5.00' }),
      aLine({ ...later, amount: '3.00' }), // 7
      aLine({ ...later, amount: '6.00' }),
    ]);
    const { bad, summary } = await importFile(file);
    expect(bad.sort((one, other) => one.line - other.line).map(({ line, errors }) => [line, ...errors])).toEqual([
      [2, expect.stringMatching(/^expires_on must/)],
      [4, 'document differs from line 3'],
      [5, 'amount differs from the earlier request'],
      [6, 'amount differs from the earlier request'],
      [8, 'amount differs from line 7'],
    ]);
    expect(summary).toEqual({ lines: 7, granted: 1, existing: 1, bad: 5 });
  });

  it('`grants import` takes what Excel in Brazil writes, and grants what the same requests to the API grant', async () => {
    const [cpf, cnpj] = [aDocument(), aCnpj()];
    // Excel writes Windows-1252: the dash is 0x96.
    const text = [
      'document;amount;external_id;expires_on;reason;note;store;metadata.campaign;metadata.store',
      `${punctuated(cpf)};1.000,00;EXCEL-1;31/12/2098;"Atenção \x96 ""ação""; até já";ligou;RJ-003;Natal;SP-014`,
      `${punctuated(cnpj)};80,00;EXCEL-2;01/02/2098;;;;;`,
      `${cpf};0,5;AÇÃO-3;;;;;Réveillon;\r`,
    ].join('\r\n');
    const file = await aFile([Buffer.from(text, 'latin1')]);
    expect(await importFile(file)).toMatchObject({ bad: [], summary: { granted: 3 } });
    for (const content of [
      {
        ...{ document: cpf, amount: '1000.00', external_id: 'EXCEL-1', expires_on: '2098-12-31' },
        ...{ note: 'ligou', store: 'RJ-003' },
        ...{ reason: 'Atenção – "ação"; até já', metadata: { campaign: 'Natal', store: 'SP-014' } },
      },
      { document: cnpj, amount: '80.00', external_id: 'EXCEL-2', expires_on: '2098-02-01' },
      { document: cpf, amount: '0.50', external_id: 'AÇÃO-3', metadata: { campaign: 'Réveillon' } },
    ]) {
      const { headers, body } = await merchant.client.post('/grants', content);
      expect([headers.get('idempotency-replayed'), body]).toMatchObject(['true', content]);
    }
    expect(await merchant.wallet(cpf)).toMatchObject({ available: '1000.50' });
    const shown = await admin.onTerminal(...command(file));
    expect(shown.map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['lines', 'granted', 'granted_amount', 'existing', 'bad'],
      ['3', '0', '0.00', '3', '0'],
    ]);
  });

  const AMOUNTS = 'such as "1500,00", "1.500,00" or "1500.00"';
  const DAYS = 'must be a calendar day in the years 1970 to 9998, such as "2026-11-20" or "20/11/2026"';
  const CHANGED = expect.stringMatching(/^must be a CPF .* a spreadsheet may have changed it, so format the column as/);

  it.each([
    ['amount', '1.234', `can be read in two ways: write the decimals, ${AMOUNTS}`],
    ['amount', '1,234', `can be read in two ways: write the decimals, ${AMOUNTS}`],
    ['amount', '1.234,567', `must be a number with at most two decimals, ${AMOUNTS}`],
    ['amount', '1,234.56', `must be a number with at most two decimals, ${AMOUNTS}`],
    ['amount', '12.34,56', `must be a number with at most two decimals, ${AMOUNTS}`],
    ['amount', 'R$ 80,00', `must be a number without "R$", ${AMOUNTS}`],
    ['amount', '0,00', 'must be greater than zero'],
    ['amount', '-1,00', 'must not be negative'],
    ['amount', '1.000.000.000,00', 'must be at most "999999999.99"'],
    ['expires_on', '1/2/2098', DAYS],
    ['expires_on', '12/31/2098', DAYS],
    ['expires_on', '31/12/98', DAYS],
    ['document', '529.982.247-2', expect.stringMatching(/^must be a CPF of 11 digits or a CNPJ/)],
    ['document', '5,29982E+10', CHANGED],
    ['document', '2998224725', CHANGED],
    ['document', '529982247250', CHANGED],
  ])('`grants import` refuses the %s %j and says what is right', async (member, value, detail) => {
    const file = await aFile([HEADER, aLine({ external_id: 'GUESS', [member]: `"${value}"` }), aLine()]);
    const { bad, summary } = await importFile(file);
    expect(bad).toEqual([{ line: 2, external_id: 'GUESS', errors: [expect.any(String)] }]);
    expect(bad[0]!.errors[0]!.replace(`${member} `, '')).toEqual(detail);
    expect(summary).toMatchObject({ granted: 1, bad: 1 });
  });

  it.each([
    ['UTF-8', 'utf8', 'latin1'],
    ['Windows-1252', 'latin1', 'utf8'],
  ] as const)(
    '`grants import` refuses a line in another encoding than that of a file in %s',
    async (name, encoding, other) => {
      const file = await aFile([
        HEADER,
        aLine(),
        Buffer.from(aLine({ external_id: `São ${name}` }), encoding),
        aLine(),
        Buffer.from(aLine({ external_id: `Açúcar ${name}` }), other),
        Buffer.from(aLine({ external_id: `Café ${name}` }), encoding),
      ]);
      const { bad, summary } = await importFile(file);
      expect(bad).toEqual([{ line: 5, errors: [`is not ${name} like the lines before it`] }]);
      expect(summary).toMatchObject({ granted: 4, bad: 1 });
      const rows = await rowsOf(service, 'SELECT external_id FROM cashback_grants WHERE external_id LIKE ?', [
        `% ${name}`,
      ]);
      expect(rows.map(({ external_id }) => String(external_id)).sort()).toEqual([`Café ${name}`, `São ${name}`]);
    },
  );

  it('`grants import` accepts twenty long members of metadata in a line and refuses more', async () => {
    const keys = Array.from({ length: 21 }, (_, at) => `k${at}`);
    const file = await aFile([
      `document,amount,external_id,${keys.map((key) => `metadata.${key}`).join(',')}`,
      `${aDocument()},1.00,MANY-20,${keys.map((_, at) => (at === 3 ? '' : 'é'.repeat(500))).join(',')}`,
      `${aDocument()},1.00,MANY-21,${keys.map(() => 'x').join(',')}`,
    ]);
    const { bad, summary } = await importFile(file);
    expect(bad).toEqual([{ line: 3, external_id: 'MANY-21', errors: ['metadata must have at most 20 members'] }]);
    expect(summary).toMatchObject({ granted: 1 });
  });

  it('`grants import` reports a conflict with a grant of the API and recognizes an identical one', async () => {
    const document = aDocument();
    const content = { external_id: 'FROM-API', document, amount: '5.00', expires_on: '2098-12-31' };
    expect((await merchant.client.post('/grants', content)).status).toBe(201);
    const same = { document, amount: '5', external_id: 'FROM-API', available_on: '', expires_on: '2098-12-31' };
    expect((await importFile(await aFile([HEADER, aLine(same)]))).summary).toMatchObject({ existing: 1, bad: 0 });
    const { bad } = await importFile(await aFile([HEADER, aLine({ ...same, expires_on: '2098-12-30' })]));
    expect(bad).toEqual([
      { line: 2, external_id: 'FROM-API', errors: ['expires_on differs from the earlier request'] },
    ]);
    expect((await merchant.wallet(document)).available).toBe('5.00');
  });

  it('`grants import --dry-run` prints the bad lines and what would be granted, and writes nothing', async () => {
    const known = aDocument();
    await merchant.grant({ external_id: 'DRY-KNOWN', document: known, amount: '5.00' });
    const line = aLine({ external_id: 'DRY-1', amount: '80.50' });
    const file = await aFile([
      HEADER,
      line,
      line,
      line.replace('80.50', '80.00'), // 4
      aLine({ external_id: 'DRY-2', expires_on: '2020-01-01' }),
      aLine({ external_id: 'DRY-KNOWN', document: known, amount: '5.00' }), // 6
      aLine({ external_id: 'DRY-KNOWN', document: known, amount: '6.00' }),
      aLine({ external_id: 'DRY-3', document: '1' }), // 8
      aLine({ external_id: 'DRY-4', amount: '1.000.00' }),
      aLine({ external_id: 'DRY-5', amount: '19.50' }), // 10
      line.replace('80.50', '80.5'), // The same amount.
    ]);
    const tables = ['cashback_grants', 'cashback_entries', 'wallets', 'audit_log'];
    const counts = () => Promise.all(tables.map((table) => rowsOf(service, `SELECT COUNT(*) AS number FROM ${table}`)));
    const before = await counts();
    const { code, bad, summary } = await importFile(file, merchant, '--dry-run');
    expect(code).toBe(1);
    bad.sort((one, other) => one.line - other.line);
    expect(bad.map(({ line: number, errors }) => [number, ...errors])).toEqual([
      [4, 'differs from line 2'],
      [5, expect.stringMatching(/^expires_on must/)],
      [7, 'differs from line 6'],
      [8, expect.stringMatching(/^document must/)],
      [9, expect.stringMatching(/^amount must/)],
    ]);
    expect(summary).toEqual({ lines: 10, would_grant: 2, would_grant_amount: '100.00', existing: 3, bad: 5 });
    expect(await counts()).toEqual(before);
    expect((await importFile(file)).summary).toMatchObject({ lines: 10, granted: 2, existing: 3, bad: 5 });
  });

  it("`grants import` recognizes an erased customer's line and reports another customer's line with its external ID", async () => {
    const document = aDocument();
    const line = aLine({ document, external_id: 'ERASED' });
    expect((await importFile(await aFile([HEADER, line]))).summary).toMatchObject({ granted: 1 });
    await admin.json('customers', 'erase', '--merchant', merchant.id, '--document', document, '--yes');
    const [mine, theirs] = [aDocument(), aDocument()];
    const file = await aFile([
      HEADER,
      line,
      aLine({ document: mine, external_id: 'ERASED' }),
      aLine({ document: theirs }),
    ]);
    for (const granted of [1, 0]) {
      const { code, bad, summary } = await importFile(file);
      expect(code).toBe(1);
      expect(bad).toEqual([{ line: 3, external_id: 'ERASED', errors: ['document differs from line 2'] }]);
      expect(summary).toEqual({ lines: 3, granted, existing: 2 - granted, bad: 1 });
    }
    expect((await merchant.wallet(mine)).id).toBeNull();
    expect((await merchant.wallet(document)).id).toBeNull();
    expect((await merchant.wallet(theirs)).available).toBe('10.00');
  });

  it('`grants import` warns of lines above the maximum of the merchant and grants them, once', async () => {
    const shop = await aMerchant(service, { grantMaximumCents: 500 });
    const amounts = ['5.00', '5.01', '6.00'];
    const file = await aFile([HEADER, ...amounts.map((amount) => aLine({ amount })), aLine({ document: '1' })]);
    const dry = await admin.run(...command(file, shop), '--dry-run');
    expect(dry.stderr).toContain('warning: 2 lines that would be granted, the first of them line 3, are above');
    const { stdout, stderr } = await admin.run(...command(file, shop));
    expect(stderr).toContain(
      "warning: 2 granted lines, the first of them line 3, are above the merchant's maximum of 5.00\n",
    );
    expect(stdout).toContain('{"lines":4,"granted":3,"granted_amount":"16.01","existing":0,"bad":1}');
    expect((await importFile(file, shop)).summary).toMatchObject({ granted: 0, existing: 3 });
  });

  it('`grants import` grants separately for another merchant', async () => {
    const other = await aMerchant(service);
    const file = await aFile([HEADER, aLine({ external_id: 'SHARED' })]);
    for (const shop of [merchant, other])
      expect((await importFile(file, shop)).summary).toMatchObject({ granted: 1, existing: 0 });
  });

  it('`grants import` accepts semicolons, the columns in any order, and a file without the dates', async () => {
    const document = aDocument();
    const file = await aFile(['external_id;amount;document', `"A;B";3.00;${document}`]);
    expect((await importFile(file)).summary).toMatchObject({ granted: 1 });
    expect((await merchant.wallet(document)).available).toBe('3.00');
  });

  it('`grants import` accepts sep=;, other spellings of the columns, spaces around values, and lines of separators', async () => {
    const document = aDocument();
    const file = await aFile([
      'sep=;',
      'Document; AMOUNT ;External ID;Expires_On;Metadata.Campaign',
      ` ${punctuated(document)} ; 12,00 ;SPACES-1; 31/12/2098 ;Natal`,
      `${document};1,00;SPACES-2;  ;`,
      ';;;;',
      ' ; ;;;;;;',
    ]);
    expect(await importFile(file)).toEqual({
      ...{ code: 0, bad: [] },
      summary: { lines: 2, granted: 2, existing: 0, bad: 0 },
    });
    const content = { external_id: 'SPACES-1', document, amount: '12.00', expires_on: '2098-12-31' };
    const { headers } = await merchant.client.post('/grants', { ...content, metadata: { Campaign: 'Natal' } });
    expect(headers.get('idempotency-replayed')).toBe('true');
  });

  it.each([
    ['is empty', []],
    ['has only a separator', ['sep=;']],
    ['has lines that end with CR', [`${HEADER}\r52998224725,10.00,X-1,,\r`]],
    ['has a line break in the first line', ['document,amount,"external_id', '"']],
    ['has a column twice, in two spellings', [`${HEADER},Amount`]],
    ['has no header', [`52998224725,10.00,X-1,,`]],
    ['lacks a column', ['document,amount']],
    ['has an unknown column', [`${HEADER},reson`]],
    ['has a column twice', [`${HEADER},amount`]],
    ['has a column for no key of metadata', [`${HEADER},metadata.`]],
    ['has a column for a bad key of metadata', [`${HEADER},metadata.store number`]],
    ['has a column with the name of a member of objects', [`${HEADER},constructor`]],
  ])('`grants import` grants nothing and exits with 1 if the file %s', async (_title, lines) => {
    const file = await aFile(lines);
    if (lines.length === 0) await writeFile(file, '');
    expect(await admin.refusal(...command(file))).toMatch(/first line|empty/);
  });

  it('`grants import` exits with 1 for an unknown merchant and for a file that does not exist', async () => {
    const unknown = { id: '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10' };
    await admin.refusal(...command(await aFile([HEADER, aLine()]), unknown));
    expect(await admin.refusal(...command(path.join(folder, 'missing.csv')))).toContain('missing.csv');
    expect(await admin.refusal(...command('/dev/null'))).toContain('--file must be a file, because it is read twice');
  });

  it('`grants import` is in the audit log with its counts and without documents', async () => {
    const document = aDocument();
    const file = await aFile([HEADER, aLine({ document })]);
    await importFile(file);
    const [record] = await admin.list('audit', 'list', '--limit', '1');
    expect(record).toMatchObject({
      command: 'grants import',
      outcome: 'done',
      details: { merchant_id: merchant.id, file: path.basename(file), lines: 1, granted: 1, existing: 0, bad: 0 },
    });
    expect(JSON.stringify(record)).not.toContain(document);
  });
});
