import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { confirm, describeInBrowser, useBrowser, openDialog, submit } from '../support/browser.js';
import { aMerchant, aUser } from '../support/factories.js';
import { answerWith, deliver, type Receiver, startReceiver } from '../support/receiver.js';
import type { Endpoint, Shop } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();

describeInBrowser('Webhooks in the back office', () => {
  const { enter } = useBrowser(service);
  let operator: Shop;
  let receiver: Receiver;
  beforeAll(async () => {
    operator = await aUser(service, merchant.id, ['events'], 'Operadora');
    receiver = await startReceiver();
  });
  afterAll(() => receiver?.stop());

  const endpoints = async (): Promise<Endpoint[]> =>
    (await merchant.get<{ data: Endpoint[] }>('/webhook-endpoints')).data;

  it('are added once with a secret that is shown once, changed, and deleted', async () => {
    const page = await enter(operator, 'webhooks');
    let dialog = await openDialog(page, 'Add endpoint');
    await dialog.getByLabel('URL').fill(receiver.url);
    await dialog.getByLabel('Order completed').check();
    await dialog.getByLabel('Order refunded').check();
    await confirm(dialog);
    expect(await dialog.locator('code').innerText()).toMatch(/^whsec_/);
    await dialog.getByRole('button', { name: 'Close' }).click();
    expect(await endpoints()).toMatchObject([
      { url: receiver.url, types: ['order.completed', 'order.refunded'], batch: 1 },
    ]);
    expect(await page.locator('main').innerText()).not.toContain('whsec_');

    dialog = await openDialog(page, 'Change');
    await page.route('**/webhook-endpoints/*', (route) =>
      route.continue({ postData: { ...(route.request().postDataJSON() as object), types: ['order.lost'] } }),
    );
    await submit(dialog).click();
    await dialog.getByRole('group').getByText('Only types of the list below.').waitFor();
    await page.unroute('**/webhook-endpoints/*');
    await dialog.getByLabel('Events per request').fill('101');
    await submit(dialog).click();
    await dialog.getByText('A number from 1 to 100.').waitFor();
    await dialog.getByLabel('Events per request').fill('10');
    await confirm(dialog);
    await page.getByText('10 events per request').waitFor();

    dialog = await openDialog(page, 'Delete');
    await confirm(dialog);
    await page.getByText('No system gets events yet.').waitFor();
    expect(await endpoints()).toEqual([]);
  });

  it('are pinged, get a new secret, and say what failed', async () => {
    const { id } = await merchant.post<Endpoint>('/webhook-endpoints', { url: `${receiver.url}/failing` });
    receiver.answer = answerWith(500, {}, 'no disk');
    const page = await enter(operator, 'webhooks');
    let dialog = await openDialog(page, 'Send test');
    await confirm(dialog);
    await dialog.getByText('The test failed: 500.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    receiver.answer = answerWith(204);
    dialog = await openDialog(page, 'New secret');
    await confirm(dialog);
    await dialog.locator('code').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await merchant.send('DELETE', `/webhook-endpoints/${id}`);
  });

  it('send the events since a time again', async () => {
    const { id } = await merchant.post<Endpoint>('/webhook-endpoints', { url: `${receiver.url}/replay` });
    await merchant.create();
    await deliver(service);
    const page = await enter(operator, 'webhooks');
    const dialog = await openDialog(page.getByRole('region', { name: `${receiver.url}/replay` }), 'Send again');
    const yesterday = new Date(Date.now() - 24 * 3_600_000).toISOString().slice(0, 16);
    await dialog.getByLabel('Since').fill(yesterday);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('until now is sent, in order.').waitFor();
    await confirm(dialog);
    await dialog.getByText('events wait now.').waitFor();
    expect(await merchant.get<Endpoint>(`/webhook-endpoints/${id}`)).toMatchObject({ behind: 1 });
  });

  it('that wait are not skipped unnoticed when a later time is chosen', async () => {
    receiver.answer = answerWith(500);
    await merchant.post<Endpoint>('/webhook-endpoints', { url: `${receiver.url}/behind` });
    await merchant.create();
    await deliver(service);
    receiver.answer = answerWith(204);
    const page = await enter(operator, 'webhooks');
    const dialog = await openDialog(page.getByRole('region', { name: `${receiver.url}/behind` }), 'Send again');
    await dialog.getByLabel('Since').fill('2099-01-01T00:00');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('Those before the time that you chose will not be sent any more.').waitFor();
  });

  it('have a picture of the last day by hour: what was delivered, and what waits', async () => {
    const shop = await aMerchant(service);
    await shop.create();
    await deliver(service);
    receiver.answer = answerWith(204);
    await shop.post<Endpoint>('/webhook-endpoints', { url: `${receiver.url}/picture`, types: ['order.created'] });
    await shop.create();
    await deliver(service);
    receiver.answer = answerWith(500);
    await shop.create();
    await shop.create();
    await deliver(service);
    receiver.answer = answerWith(204);
    const page = await enter(shop, 'webhooks');
    const picture = page.getByRole('region', { name: `${receiver.url}/picture` }).getByRole('figure');
    const hours = picture.getByRole('row');
    await hours.first().waitFor({ state: 'attached' });
    expect(await hours.count()).toBe(24);
    const texts = (await hours.allTextContents()).join(' ');
    // An endpoint does not get what happened before it was added.
    expect(texts.match(/\d+ delivered/g)).toEqual(['1 delivered']);
    expect((texts.match(/\d+ waiting/g) ?? []).reduce((sum, text) => sum + parseInt(text, 10), 0)).toBe(2);
    await picture.getByRole('group').press('End');
    expect(await picture.getByRole('status').innerText()).toContain(':');
  });

  it('have a feed with the newest events first, of one type if that is chosen, and each as JSON', async () => {
    const order = await merchant.completed();
    await deliver(service);
    const page = await enter(operator, 'webhooks');
    const rows = page.getByRole('region', { name: 'Events' }).locator('table tbody tr');
    await rows.first().waitFor();
    expect(await rows.first().innerText()).toContain('Order completed');
    await page.getByLabel('Type', { exact: true }).selectOption('order.created');
    await page.getByRole('cell', { name: 'Order completed' }).first().waitFor({ state: 'detached' });
    expect(await rows.first().innerText()).toContain('Order created');
    await rows.first().locator('summary').click();
    expect(await rows.first().locator('pre').innerText()).toContain(order.id);
  });

  it('have a feed since a time in the zone of the merchant, also after its clocks changed, and while it is typed', async () => {
    const { id } = await aMerchant(service, { timeZone: 'America/New_York' });
    const page = await enter(await aUser(service, id, ['events'], 'New York'), 'webhooks');
    const since = page.getByLabel('Since', { exact: true });
    // While someone types 2026, the year is 0002.
    await since.fill('0002-11-01T03:00');
    for (const [text, from] of [
      ['2026-11-01T00:30', '2026-11-01T04:30:00.000Z'],
      ['2026-11-01T03:00', '2026-11-01T08:00:00.000Z'],
      ['2026-03-08T03:30', '2026-03-08T07:30:00.000Z'],
      ['2026-03-08T01:30', '2026-03-08T06:30:00.000Z'],
    ] as const) {
      const asked = page.waitForRequest((request) => new URL(request.url()).searchParams.has('from'));
      await since.fill(text);
      expect(new URL((await asked).url()).searchParams.get('from')).toBe(from);
    }
  });
});
