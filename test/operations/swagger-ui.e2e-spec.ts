import { expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { createDataSource } from '../../src/schema.js';
import { describeInBrowser, useBrowser } from '../support/browser.js';
import { logIn } from '../support/factories.js';
import { seedMerchant } from '../support/seed.js';
import { useBuiltService } from '../support/use-service.js';

describeInBrowser('Swagger UI', () => {
  // Only the build has the examples.
  const service = useBuiltService();
  const { open } = useBrowser(service);

  async function openDocs(): Promise<Page> {
    const page = await open();
    await page.goto(`${service.url}/docs`);
    await page.locator('.opblock').first().waitFor();
    return page;
  }
  const summaries = (page: Page): Promise<string[]> =>
    page.locator('.opblock-tag-section .opblock-summary-description').allInnerTexts();

  it('a second click on Execute repeats the example order, and its Idempotency-Replayed is on the page', async () => {
    const { access_token } = await logIn(service, await seedMerchant(createDataSource(service.databaseUrl)));
    const page = await openDocs();
    await page.getByRole('button', { name: 'Authorize', exact: true }).click();
    await page.locator('.auth-container input').fill(access_token);
    await page.locator('.auth-container').getByRole('button', { name: 'Apply credentials' }).click();
    await page.locator('.auth-container').getByRole('button', { name: 'Close' }).click();
    const operation = page.locator('#operations-orders-createOrder');
    await operation.locator('.opblock-summary-control').click();
    // The mouse is elsewhere, so nothing is shown because it is over it.
    const execute = async (): Promise<void> => {
      await operation.getByRole('button', { name: 'Execute' }).click();
      await page.mouse.move(0, 0);
    };
    const response = operation.locator('.live-responses-table');
    const replayed = response.getByText('idempotency-replayed: true');
    await execute();
    await response.getByText('content-type: application/json').waitFor();
    expect(await response.innerText()).toContain('"external_id": "PED-1001-');
    expect(await replayed.count()).toBe(0);
    await execute();
    await replayed.waitFor();
    // Above the body, which is long.
    const topOf = async (text: string): Promise<number> => (await response.getByText(text).boundingBox())!.y;
    expect(await topOf('idempotency-replayed')).toBeLessThan(await topOf('Response body'));
  });

  it('the search finds operations by each word of their method, path, summary or tag', async () => {
    const page = await openDocs();
    const all = await summaries(page);
    const search = page.getByPlaceholder('Search operations');
    for (const [phrase, found] of [
      ['freeze', ['Freeze or unfreeze a wallet']],
      ['statement', ["Read a wallet's statement"]],
      ['delete CAMPAIGNS', ['Delete a campaign']],
      ['nothing has this', []],
    ] as const) {
      await search.fill(phrase);
      expect(await summaries(page)).toEqual(found);
    }
    await search.fill('');
    expect(await summaries(page)).toEqual(all);
  });
});
