import { Command } from 'commander';
import { GrantsService } from '../cashback/grants.service.js';
import { formatMoney } from '../common/money.js';
import { documentNumber, instant, moneyOverZero, shortText } from './arguments.js';
import { runWithServices } from './services.js';

interface GrantOptions {
  merchant: string;
  document: string;
  amount: number;
  availableAt?: Date;
  expiresAt?: Date;
  reason?: string;
}

export function cashbackCommands(): Command {
  const cashback = new Command('cashback').description("customers' cashback");
  cashback
    .command('grant')
    .description('give a customer cashback out of goodwill')
    .requiredOption('--merchant <id>', 'the merchant it can be spent with')
    .requiredOption('--document <digits>', "the customer's 11 digits", documentNumber)
    .requiredOption('--amount <amount>', 'how much, such as 80.00', moneyOverZero)
    .option('--available-at <instant>', 'from when it can be spent; now, if not said', instant)
    .option('--expires-at <instant>', "until when; the policy's validity, if not said", instant)
    .option('--reason <text>', 'why, for the record', shortText)
    .action(({ merchant, document, amount, ...options }: GrantOptions) =>
      runWithServices(async (services) => {
        const credit = await services.get(GrantsService).grant(merchant, document, amount, options);
        return {
          id: credit.id,
          wallet_id: credit.walletId,
          amount: formatMoney(credit.amountCents),
          available_at: credit.availableAt,
          expires_at: credit.expiresAt,
          reason: credit.reason,
        };
      }),
    );
  return cashback;
}
