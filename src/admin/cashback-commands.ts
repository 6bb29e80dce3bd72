import { Command } from 'commander';
import { GrantsService } from '../cashback/grants.service.js';
import { formatMoney } from '../common/money.js';
import { externalId, instant, moneyOverZero, shortText } from './arguments.js';
import { type DocumentOptions, documentOf, withDocument } from './private-input.js';
import { runChange } from './services.js';

interface GrantOptions extends DocumentOptions {
  merchant: string;
  externalId?: string;
  amount: number;
  availableAt?: Date;
  expiresAt?: Date;
  reason?: string;
}

export function cashbackCommands(): Command {
  const cashback = new Command('cashback').description("customers' cashback");
  withDocument(
    cashback
      .command('grant')
      .description('grant cashback to a customer')
      .requiredOption('--merchant <id>', 'the merchant with which it can be spent')
      .requiredOption('--amount <amount>', 'the amount, such as 80.00', moneyOverZero)
      .option('--external-id <id>', 'your own ID of this grant; makes the command safe to repeat', externalId)
      .option('--available-at <instant>', 'when it becomes available; default: now', instant)
      .option('--expires-at <instant>', "when it expires; default: according to the merchant's policy", instant)
      .option('--reason <text>', 'the reason, for your records', shortText),
  ).action(async (options: GrantOptions) => grant(options, await documentOf(options)));
  return cashback;
}

function grant({ merchant, amount, ...options }: GrantOptions, document: string): Promise<void> {
  const { availableAt, expiresAt, reason, externalId: ofMerchant } = options;
  const given = {
    ...(availableAt && { availableAt }),
    ...(expiresAt && { expiresAt }),
    ...(reason !== undefined && { reason }),
    ...(ofMerchant !== undefined && { externalId: ofMerchant }),
  };
  const details = { merchant_id: merchant, amount: formatMoney(amount) };
  return runChange({ command: 'cashback grant', details }, async (services) => {
    const { credit, replayed } = await services.get(GrantsService).grant(merchant, document, amount, given);
    const result = {
      id: credit.id,
      wallet_id: credit.walletId,
      ...(ofMerchant !== undefined && { external_id: ofMerchant }),
      amount: formatMoney(credit.amountCents),
      available_at: credit.availableAt,
      expires_at: credit.expiresAt,
      reason: credit.reason,
    };
    return { result, changed: { credit_id: credit.id, wallet_id: credit.walletId, replayed } };
  });
}
