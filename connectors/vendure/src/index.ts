export type { CashbackPluginOptions } from './cashback.service';
export { CashbackEvent } from './entities';
export { CashbackPlugin, cashbackPaymentHandler } from './plugin';
