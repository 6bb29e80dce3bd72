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
      .description('grant a customer cashback')
      .requiredOption('--merchant <id>', 'the merchant it can be spent with')
      .requiredOption('--amount <amount>', 'how much, such as 80.00', moneyOverZero)
      .option('--external-id <id>', 'your own ID of this grant: with it the command can be repeated safely', externalId)
      .option('--available-at <instant>', 'when it can first be spent; default: now', instant)
      .option('--expires-at <instant>', "when it expires; default: the policy's validity", instant)
      .option('--reason <text>', 'why, for the record', shortText),
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
