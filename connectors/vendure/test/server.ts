/** A Vendure server with the plugin, for test/endurance/vendure.e2e-spec.ts. It prints the events that it receives. */
import {
  bootstrap,
  dummyPaymentHandler,
  EventBus,
  LanguageCode,
  PaymentMethodHandler,
  Populator,
  TransactionalConnection,
  type VendureConfig,
  Zone,
} from '@vendure/core';
import { CashbackEvent, CashbackPlugin } from '../src';

const { PORT, DATABASE_URL = '', BASE_URL = '', EMAIL = '', PASSWORD = '', WEBHOOK_SECRET } = process.env;
const { hostname, port, username, password, pathname } = new URL(DATABASE_URL);

/** Pays an amount of the order, at once or when an administrator settles it. */
const money = new PaymentMethodHandler({
  code: 'money',
  description: [{ languageCode: LanguageCode.en, value: 'Money' }],
  args: {},
  createPayment: (_ctx, _order, amount, _args, { amount: part, later }) => ({
    amount: part ?? amount,
    state: later ? 'Authorized' : 'Settled',
    transactionId: 'money',
  }),
  settlePayment: () => ({ success: true }),
  // It refuses a refund whose reason is the method of its payment.
  createRefund: (_ctx, { reason }, _amount, _order, { method }) => ({
    state: reason === method ? 'Failed' : 'Settled',
  }),
});

const config: VendureConfig = {
  apiOptions: { port: Number(PORT), hostname: '127.0.0.1', adminApiPath: 'admin-api', shopApiPath: 'shop-api' },
  authOptions: {
    tokenMethod: 'bearer',
    requireVerification: false,
    superadminCredentials: { identifier: 'superadmin', password: 'superadmin' },
  },
  dbConnectionOptions: {
    ...{ type: 'mysql', host: hostname, port: Number(port || 3306), synchronize: true },
    ...{ username: decodeURIComponent(username), password: decodeURIComponent(password), database: pathname.slice(1) },
  },
  paymentOptions: { paymentMethodHandlers: [dummyPaymentHandler, money] },
  plugins: [
    CashbackPlugin.init({
      ...{ baseUrl: BASE_URL, email: EMAIL, password: PASSWORD, webhookSecret: WEBHOOK_SECRET },
      // On a busy machine an answer can take long.
      timeout: 60_000,
      // This shop verifies customers by a code sent to the phone.
      ownsDocument: (_ctx, order) => order.customer?.phoneNumber === 'verified',
    }),
  ],
};

async function main(): Promise<void> {
  const app = await bootstrap(config);
  app
    .get(EventBus)
    .ofType(CashbackEvent)
    .subscribe(({ event }) => console.log(`event ${event.id} ${event.type}`));
  if ((await app.get(TransactionalConnection).rawConnection.getRepository(Zone).count()) === 0)
    await app.get(Populator).populateInitialData({
      ...{ defaultLanguage: LanguageCode.en, defaultZone: 'Brasil', collections: [] },
      countries: [{ name: 'Brasil', code: 'BR', zone: 'Brasil' }],
      taxRates: [{ name: 'Standard', percentage: 18 }],
      shippingMethods: [
        { name: 'Sedex', price: 1990 },
        { name: 'Free', price: 0 },
      ],
      paymentMethods: ['cashback', 'pix', 'card'].map((name) => ({
        name,
        handler: { code: name === 'cashback' ? name : 'money', arguments: [] },
      })),
    });
  console.log('shop is ready');
}

void main();
