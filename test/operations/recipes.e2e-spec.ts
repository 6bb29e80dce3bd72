import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import { addDays, dayOf } from '../../src/platform/values/time.js';
import { FrozenClock } from '../support/clock.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant } from '../support/factories.js';
import type { Grant } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const PAGE = readFileSync('docs/recipes.md', 'utf8');
const clock = new FrozenClock();
const { service, merchant } = useService({ clock });
afterEach(() => expectInvariants(service));

const today = (): string => dayOf(clock.now(), 'America/Sao_Paulo');

/** The blocks of a section, with days to come in place of those of the page. */
function blocksOf(title: string, language: 'json'): string[] {
  const [, section = ''] = PAGE.split(`## ${title}\n`);
  const days = new Map([
    ['2026-11-27', today()],
    ['2026-11-29', addDays(today(), 2)],
    ['2026-12-31', addDays(today(), 35)],
  ]);
  return Array.from(section.split('\n## ')[0]!.matchAll(/^```(\w+)\n(.*?)^```$/gms))
    .filter(([, of]) => of === language)
    .map(([, , text = '']) => text.replaceAll(/\d{4}-\d\d-\d\d/g, (day) => days.get(day)!));
}

describe('docs/recipes.md', () => {
  it('the grants of a welcome and a birthday are given once', async () => {
    for (const block of blocksOf('Welcome and birthday', 'json').slice(0, 2)) {
      const body = JSON.parse(block) as Grant;
      const grant = await merchant.post<Grant>('/grants', body);
      expect(grant).toMatchObject(body);
      expect(await merchant.post<Grant>('/grants', body)).toEqual(grant);
    }
    expect((await merchant.wallet('52998224725')).available).toBe('25.00');
  });

  it('the grants of the birthdays of a day are made in one request, once', async () => {
    const { data } = JSON.parse(blocksOf('Welcome and birthday', 'json').at(2)!) as { data: Grant[] };
    const { data: made } = await merchant.grantEach(data);
    expect(made).toMatchObject(data.map((grant) => ({ status: 201, grant, problem: null })));
    expect(await merchant.grantEach(data)).toEqual({ data: made.map((result) => ({ ...result, status: 200 })) });
    for (const { document } of data) expect((await merchant.wallet(document)).available).toBe('15.00');
  });

  it('the cashback of a weekend is double', async () => {
    const shop = await aMerchant(service, { earnRatesByPaymentMethod: { pix: 700 } });
    const earned = async (method: string): Promise<string> => {
      const payment_methods = [{ id: method, amount: '100.00' }];
      return (await shop.create({ total: '100.00', payment_methods })).cashback.to_receive.amount;
    };
    expect([await earned('cash'), await earned('pix')]).toEqual(['5.00', '7.00']);
    await shop.post('/campaigns', JSON.parse(blocksOf('Double cashback this weekend', 'json')[0]!));
    clock.skip(60_000);
    expect([await earned('cash'), await earned('pix')]).toEqual(['10.00', '12.00']);
  });

  it('the TV comes back, and takes what it earned with it, also after a redemption', async () => {
    const [json = ''] = blocksOf('Rates by category, brand or tier', 'json');
    const refund = JSON.parse(json) as { items: object[]; take_back: string };
    const { items } = refund;
    const shop = await aMerchant(service, { earnRateMaximumBps: 500 });
    const bought = [
      { id: 'tv', price: '200.00' },
      { id: 'clothes', price: '100.00' },
    ];
    const cart = { total: '300.00', items: bought, payment_methods: [], earn_amount: '7.00' };
    const sold = await shop.completed(cart);
    expect(sold.cashback.to_receive.amount).toBe('7.00');
    expect((await shop.quoteRefund(sold, undefined, { items })).cashback_taken_back).toBe('4.67');
    const made = { amount: '200.00', cashback_taken_back: '2.00' };
    expect(await shop.post(`/orders/${sold.id}/refunds`, refund)).toMatchObject(made);
    expect((await shop.refund(sold, '10.00')).cashback_taken_back).toBe('0.50');

    const document = aDocument();
    await shop.credit(document, '60.00');
    const redeemed = await shop.completed({ ...cart, document }, { redeem: '60.00' });
    expect(redeemed.cashback.to_receive.amount).toBe('5.60');
    const quoted = await shop.quoteRefund(redeemed, undefined, { items, take_back: '1.60' });
    expect(quoted.cashback_taken_back).toBe('1.60');
  });
});
