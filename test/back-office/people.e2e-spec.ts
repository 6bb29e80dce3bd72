import { beforeAll, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { confirm, describeInBrowser, logIn, useBrowser, openDialog } from '../support/browser.js';
import { aUser } from '../support/factories.js';
import { type Shop, unique } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();

describeInBrowser('People in the back office', () => {
  const { open, enter } = useBrowser(service);
  let owner: Shop;
  let mighty: Shop;
  beforeAll(async () => {
    owner = await aUser(service, merchant.id, ['sell', 'refund', 'reports', 'users'], 'Dona Ana');
    mighty = await aUser(service, merchant.id, ['sell', 'grants'], 'CRM');
  });

  const rowOf = (page: Page, name: string): Locator => page.getByRole('row').filter({ hasText: name });

  it('are invited with at most the permissions of who invites, with a password that is shown once', async () => {
    const email = `caixa-${unique()}@shop.example`;
    const page = await enter(owner, 'people');
    const dialog = await openDialog(page, 'Invite');
    expect((await dialog.getByRole('checkbox').all()).length).toBe(4);
    expect(await dialog.getByLabel('grant').count()).toBe(0);
    await dialog.getByLabel('Name').fill('Caixa 3');
    await dialog.getByLabel('Email').fill(email);
    await dialog.getByLabel('refund').check();
    await confirm(dialog);
    const password = await dialog.locator('code').innerText();
    await dialog.getByRole('button', { name: 'Close' }).click();
    expect(await rowOf(page, 'Caixa 3').innerText()).toContain('sell, refund');
    await logIn(await open(), { email, password });

    // The email is taken; what was typed stays.
    const again = await openDialog(page, 'Invite');
    await again.getByLabel('Name').fill('Caixa 4');
    await again.getByLabel('Email').fill(email);
    await again.getByRole('button', { name: /^Confirm/ }).click();
    expect(await again.getByRole('alert').innerText()).toContain('Another user has this email.');
    expect(await again.getByLabel('Name').inputValue()).toBe('Caixa 4');
  });

  it('are not invited without a permission: what may be chosen is marked, and says so', async () => {
    const page = await enter(owner, 'people');
    const dialog = await openDialog(page, 'Invite');
    await dialog.getByLabel('Name').fill('Caixa 5');
    await dialog.getByLabel('Email').fill(`caixa-${unique()}@shop.example`);
    await dialog.getByLabel('sell').uncheck();
    await dialog.getByRole('button', { name: /^Confirm/ }).click();
    await dialog.getByText('Check the marked fields.').waitFor();
    const choice = dialog.getByRole('group', { name: 'Permissions' });
    const described = await choice.getAttribute('aria-describedby');
    expect(await dialog.locator(`[id="${described}"]`).innerText()).toBe('Choose what the user may do.');
    expect(await dialog.getByLabel('sell').getAttribute('aria-invalid')).toBe('true');
  });

  it('are changed, disabled and enabled, and get a new password', async () => {
    const till = await aUser(service, merchant.id, ['sell'], `Caixa ${unique()}`);
    const page = await enter(owner, 'people');
    const row = rowOf(page, till.name);
    let dialog = await openDialog(row, 'Change');
    await dialog.getByLabel('refund').check();
    await confirm(dialog);
    await row.getByText('sell, refund').waitFor();
    expect(await merchant.get(`/users/${till.userId}`)).toMatchObject({
      permissions: ['sell', 'refund'],
      disabled: false,
    });

    dialog = await openDialog(row, 'Disable');
    await confirm(dialog);
    await row.getByText('disabled', { exact: true }).waitFor();
    await till.get('/policy').refused(401, 'invalid_token');
    dialog = await openDialog(row, 'Enable');
    await confirm(dialog);
    await row.getByText('active', { exact: true }).waitFor();
    dialog = await openDialog(row, 'New password');
    await confirm(dialog);
    await logIn(await open(), { email: till.email, password: await dialog.locator('code').innerText() });
  });

  it('that may do more cannot be changed, and nobody changes themselves', async () => {
    const page = await enter(owner, 'people');
    expect(await rowOf(page, mighty.email).innerText()).toContain('may do more than you');
    expect(await rowOf(page, owner.email).innerText()).toContain('you');
    for (const { email } of [mighty, owner]) expect(await rowOf(page, email).getByRole('button').count()).toBe(0);
  });

  it('change their own password, which needs the current one', async () => {
    const till = await aUser(service, merchant.id, ['sell'], `Caixa ${unique()}`);
    const page = await enter(till);
    const dialog = await openDialog(page, 'Change password');
    await dialog.getByLabel('Current password').fill('wrong');
    await dialog.getByLabel('New password').fill('a better password');
    await dialog.getByRole('button', { name: /^Confirm/ }).click();
    expect(await dialog.getByRole('alert').innerText()).toContain('The current password is wrong.');
    await dialog.getByLabel('Current password').fill(till.password);
    await dialog.getByRole('button', { name: /^Confirm/ }).click();
    await dialog.getByText('Your password is changed.').waitFor();
    await logIn(await open(), { email: till.email, password: 'a better password' });
  });
});
