import type { ChangePassword, Login } from './generated/types.gen.js';
import { type CallOptions, Http, type HttpOptions } from './http.js';
import { operation, type Operation, type Send } from './operations.js';
import { type Resources, resources } from './resources.js';
import { inMemory, Session, type TokenStore } from './tokens.js';

export type {
  Checkout,
  FinalPayment,
  OrderContent,
  PaidOrder,
  Payment,
  PayOptions,
  PutOptions,
  PutOrder,
  Sale,
} from './checkout.js';
export { cleanDocument } from './document.js';
export { CashbackError, type Unknown } from './errors.js';
export type * from './generated/types.gen.js';
export type { CallOptions, Retry } from './http.js';
export type { List } from './operations.js';
export { createSandboxMerchant, type SandboxMerchantOptions } from './sandbox.js';
export type { TokenSet, TokenStore } from './tokens.js';

export interface CashbackOptions extends HttpOptions {
  /** With email and password, the client logs in when it needs to. Without them, call `login`. */
  email?: string | undefined;
  password?: string | undefined;
  /** Where the token set is. By default it is in this client. */
  tokenStore?: TokenStore | undefined;
}

const WithResources = class {
  constructor(send: Send) {
    Object.assign(this, resources(send));
  }
} as new (send: Send) => Resources;

/** A client of the cashback order service, for one API user. */
export class Cashback extends WithResources {
  /** Returns the API user that the client is logged in as. */
  readonly me: Operation<'getMe'>;
  readonly #session: Session;
  readonly #changePassword: Operation<'changePassword'>;

  constructor({ email, password, tokenStore = inMemory(), ...options }: CashbackOptions) {
    const http = new Http(options);
    const credentials = email !== undefined && password !== undefined ? { email, password } : undefined;
    const session = new Session(http, tokenStore, options.timeout, credentials);
    const send: Send = (call) => http.request({ authorize: session.authorize, ...call });
    super(send);
    this.#session = session;
    this.me = operation('getMe', send);
    this.#changePassword = operation('changePassword', send);
  }

  /** Starts a session, for example of the person at a page. The email and the password are not kept. */
  async login(credentials: Login, options?: CallOptions): Promise<void> {
    await this.#session.logIn(credentials, options);
  }

  /** Ends the session. The client forgets it even if the service cannot be reached. */
  logout(options?: CallOptions): Promise<void> {
    return this.#session.logOut(options);
  }

  /** Changes the password of the client's own user, whose other sessions end. */
  async changePassword(body: ChangePassword, options?: CallOptions): Promise<void> {
    await this.#changePassword(body, options);
    this.#session.passwordChanged(body.new_password);
  }
}
