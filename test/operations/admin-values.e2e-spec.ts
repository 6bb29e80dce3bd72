import { describe, expect, it } from '@jest/globals';
import { aMerchant } from '../support/factories.js';
import { useAdmin } from '../support/use-admin.js';

const { service, admin } = useAdmin();

describe('rates on the command line', () => {
  it('a policy that was set with rates in percent is the policy of the merchant over HTTP', async () => {
    const merchant = await aMerchant(service);
    await admin.json('merchant', 'set', merchant.id, '--earn-rate', '4.5%', '--earn-rate', 'Pix=700bps');
    await admin.json('merchant', 'set', merchant.id, '--redeem-share', '33.3%');
    const { policy } = await admin.json('merchant', 'set', merchant.id, '--name', 'Same');
    expect(policy).toMatchObject({
      ...{ earn_rate: '4.5%', earn_rates_by_payment_method: { Pix: '7%' }, redeem_share: '33.3%' },
    });
    const body = { total: '100.00', payment_methods: [{ id: 'pix', amount: '50.00' }] };
    const quote = await merchant.quote(body).answer;
    expect(quote.body).toMatchObject({
      payment_methods: [{ earn_rate: '0.07' }],
      policy: { earn_rate: '0.045', redeem_share: '0.333' },
    });
  });

  it.each([
    ['--earn-rate', '5'],
    ['--earn-rate', '500'],
    ['--earn-rate', '0.05'],
    ['--earn-rate', 'pix=700'],
    ['--earn-rate', '5,5%'],
    ['--earn-rate', '7.125%'],
    ['--earn-rate', '-1%'],
    ['--earn-rate', '100.01%'],
    ['--earn-rate', '10001bps'],
    ['--earn-rate', '7.5bps'],
    ['--earn-rate', 'pix=%'],
    ['--redeem-share', '5000'],
    ['--redeem-share', 'pix=50%'],
  ])('`merchant create %s %s` is refused and says how to write a rate', async (option, text) => {
    const said = await admin.refusal('merchant', 'create', '--name', 'Shop', `${option}=${text}`);
    expect(said).toContain('with its unit, such as 5%, 7.25% or 500bps');
  });

  it('`merchant create` refuses two general rates, two rates for one payment method, and a rate without a method', async () => {
    const create = (...rates: string[]): Promise<string> =>
      admin.refusal('merchant', 'create', '--name', 'Shop', ...rates.map((rate) => `--earn-rate=${rate}`));
    expect(await create('5%', '5%')).toContain('The general rate is given twice');
    expect(await create('pix=5%', 'PIX=7%')).toContain('PIX already has a rate');
    expect(await create('=7%')).toContain('It must name a payment method');
  });
});

describe('texts on the command line', () => {
  const merchant = ['merchant', 'create', '--name'];
  const grant = [
    'cashback',
    'grant',
    '--merchant',
    '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10',
    '--amount',
    '1.00',
    '--document',
    '52998224725',
  ];

  it.each([
    [[...merchant, ' '], 'It must not be empty.'],
    [[...merchant, 'Loja '], 'It must not begin or end with blanks or invisible characters (U+0020).'],
    [[...merchant, 'Loja\u001b[2J'], 'It must not have control characters or line breaks (U+001B).'],
    [[...merchant, 'x'.repeat(201)], 'It has more than 200 characters.'],
    [[...merchant, 'Loja', '--earn-rate', 'pix =7%'], 'blanks or invisible characters (U+0020).'],
    [[...merchant, 'Loja', '--earn-rate', 'p\u200bix=7%'], 'It must not have invisible characters (U+200B).'],
    [[...grant, '--external-id', 'G-1\u00a0'], 'blanks or invisible characters (U+00A0).'],
    [[...grant, '--external-id', '..'], 'It must not be "." or "..".'],
    [[...grant, '--store', 'SP\u200d014'], 'It must not have invisible characters (U+200D).'],
    [[...grant, '--reason', 'late '], 'blanks or invisible characters (U+0020).'],
    [[...grant, '--note', 'a\u0007'], 'It must not have control characters (U+0007).'],
    [
      ['user', 'rename', 'till@shop.example', 'Caixa\u00073'],
      'It must not have control characters or line breaks (U+0007).',
    ],
  ])('`%j` is refused: %s', async (args, detail) => {
    expect(await admin.refusal(...args)).toContain(detail);
  });
});

describe('the output of lists', () => {
  it('lists are JSON lines in a pipe and a table with a header on a terminal', async () => {
    const name = 'Loja\u001b[2J "São João"';
    const { id } = await admin.json('merchant', 'create', '--name', 'Loja', '--earn-rate', '12.5%');
    // A name in a database can be older than the rules of names.
    await service.dataSource.query('UPDATE merchants SET name = ? WHERE id = ?', [name, id]);
    const listed = await admin.list('merchant', 'list');
    const table = await admin.onTerminal('merchant', 'list');
    expect(table[0]).toMatch(
      /^id +name +created_at +earn_rate +earn_rates_by_payment_method +redeem_share +time_zone$/,
    );
    expect(table).toHaveLength(1 + listed.length);
    expect(listed.at(-1)).toMatchObject({ id, name, policy: { earn_rate: '12.5%' } });
    expect(table.at(-1)).toMatch(
      new RegExp(`^${id}  Loja\uFFFD\\[2J "São João" .* 12.5%  \\{\\} .* 50%  America/Sao_Paulo$`),
    );
    const starts = table.map((line) => line.indexOf('  ')).filter((at) => at > 0);
    expect(Math.min(...starts.slice(1))).toBe(id.length);
  });

  it('a record is an object in a pipe, and its members with local times on a terminal', async () => {
    const create = ['merchant', 'create', '--name', 'Loja', '--time-zone', 'America/Manaus'];
    const { id, created_at } = await admin.json<{ id: string; created_at: string }>(...create);
    const rates = { earnRatesByPaymentMethod: { 'p\u001bix': 700 } };
    await service.dataSource.query('UPDATE merchants SET name = ?, policy = JSON_MERGE_PATCH(policy, ?) WHERE id = ?', [
      'Loja\u001b[2J',
      JSON.stringify(rates),
      id,
    ]);
    const shown = await admin.onTerminal('merchant', 'set', id, '--order-ttl-minutes', '30');
    const values = new Map(shown.map((line) => line.split(/ {2,}/) as [string, string]));
    expect(Object.fromEntries(values)).toMatchObject({
      ...{ id, name: 'Loja\uFFFD[2J', 'policy.earn_rate': '5%', 'policy.time_zone': 'America/Manaus' },
      'policy.earn_rates_by_payment_method.p\uFFFDix': '7%',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d-04:00$/),
    });
    expect(new Date(values.get('created_at')!).getTime()).toBe(Math.floor(Date.parse(created_at) / 1000) * 1000);
    const options = ['--merchant', id, '--name', 'Caixa', '--email', 'caixa@loja.example'];
    const user = await admin.onTerminal('user', 'create', ...options);
    expect(user.join('\n')).toMatch(
      /^disabled_at\ncreated_at +\S+T\S+Z\npermissions +\["sell","refund"\]\npassword +\S+$/m,
    );
  });
});
