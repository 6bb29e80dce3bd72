export { CashbackEvent, type CashbackPluginOptions } from './cashback.service';
export { CashbackPlugin, cashbackPaymentHandler } from './plugin';
