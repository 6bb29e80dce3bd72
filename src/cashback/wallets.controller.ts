import { Body, Get, HttpCode, Post, Put, Query, Res } from '@nestjs/common';
import { type Response } from 'express';
import { Reads } from '../platform/database/reads.js';
import { Heavy, LocksRows } from '../platform/http/admission.js';
import { answer } from '../platform/http/app-request.js';
import { CurrentCaller, IdParam, MerchantController, MerchantId, Requires } from '../platform/http/decorators.js';
import { ListFile } from '../platform/http/response.interceptor.js';
import { ApiProblems, ApiReplays } from '../platform/openapi/decorators.js';
import { type Caller } from '../platform/values/caller.js';
import {
  CREDIT_COLUMNS,
  CreditPageDto,
  CustomerCreditPageDto,
  ListCreditsDto,
  ListWalletCreditsDto,
} from './credit.dto.js';
import { CREDITS } from './credits.list.js';
import { CUSTOMERS } from './customers.list.js';
import { CustomerEntryPageDto, ENTRY_COLUMNS, ListLedgerDto } from './entry.dto.js';
import { ExpiringReportDto, WalletExpiringQueryDto } from './expiring.dto.js';
import { FreezesService } from './freezes.service.js';
import { WalletReadsService } from './wallet-reads.service.js';
import {
  CUSTOMER_COLUMNS,
  CustomerPageDto,
  EntryPageDto,
  FreezeWalletDto,
  ListCustomersDto,
  ListEntriesDto,
  SearchWalletDto,
  WalletDto,
} from './wallet.dto.js';
import { CREDITS_OF_WALLET, ENTRIES, LEDGER_ENTRIES } from './wallet.list.js';

@MerchantController('credits', 'wallets')
export class CreditsController {
  constructor(private readonly reads: Reads) {}

  /**
   * List the open credits of all customers
   *
   * @remarks Returns the credits of which something remains that is not held, earliest expiry first, pending ones
   * included, one page at a time. With `store`, a page looks at no more than 1,000 credits, so it can be empty although
   * more follow. Continue with `next_cursor` until it is null.
   */
  @Get()
  @Requires('reports')
  @Heavy()
  @ListFile('credits', CustomerCreditPageDto, CREDIT_COLUMNS)
  listCredits(@MerchantId() merchantId: string, @Query() query: ListCreditsDto): Promise<CustomerCreditPageDto> {
    return this.reads.page(merchantId, query, CREDITS);
  }
}

@MerchantController('entries', 'wallets')
export class EntriesController {
  constructor(private readonly reads: Reads) {}

  /**
   * List the ledger entries of all customers
   *
   * @remarks Returns what is behind the figures of the ledger report, newest first, one page at a time. With `kind` or
   * `store`, a page looks at no more than 1,000 entries, so it can be empty although more follow. Continue with
   * `next_cursor` until it is null.
   */
  @Get()
  @Requires('reports')
  @Heavy()
  @ListFile('entries', CustomerEntryPageDto, ENTRY_COLUMNS)
  listEntries(@MerchantId() merchantId: string, @Query() query: ListLedgerDto): Promise<CustomerEntryPageDto> {
    return this.reads.page(merchantId, query, LEDGER_ENTRIES);
  }
}

@MerchantController('customers', 'wallets')
export class CustomersController {
  constructor(private readonly reads: Reads) {}

  /**
   * List customers
   *
   * @remarks Returns the customers who have a balance or a debt, by the ID of their wallet, one page at a time. A page
   * looks at no more than 1,000 wallets, so it can be empty although more follow. Continue with `next_cursor` until it
   * is null.
   */
  @Get()
  @Requires('reports')
  @Heavy()
  @ListFile('customers', CustomerPageDto, CUSTOMER_COLUMNS)
  listCustomers(@MerchantId() merchantId: string, @Query() query: ListCustomersDto): Promise<CustomerPageDto> {
    return this.reads.page(merchantId, query, CUSTOMERS);
  }
}

@MerchantController('wallets', 'wallets')
export class WalletsController {
  constructor(
    private readonly wallets: WalletReadsService,
    private readonly freezes: FreezesService,
    private readonly reads: Reads,
  ) {}

  /**
   * Find a customer's wallet
   *
   * @remarks Returns the customer's cashback with this merchant. For an unknown customer, all amounts are zero.
   */
  @Post('search')
  @Requires()
  @HttpCode(200)
  @ApiProblems.query()
  searchWallet(@MerchantId() merchantId: string, @Body() body: SearchWalletDto): Promise<WalletDto> {
    return this.wallets.search(merchantId, body.document);
  }

  /**
   * Read a wallet
   *
   * @remarks Returns the customer's balance in its current state, like the search by document.
   */
  @Get(':id')
  @Requires()
  @ApiProblems.read()
  getWallet(@MerchantId() merchantId: string, @IdParam('The wallet') id: string): Promise<WalletDto> {
    return this.wallets.get(merchantId, id);
  }

  /**
   * List a wallet's credits
   *
   * @remarks Returns the credits of which something remains that is not held, earliest expiry first, pending ones
   * included: how much expires when, and where it came from. What remains of all of them, less what is held, is the
   * available and the pending balance. With `status=all`, also those that are spent or have expired.
   */
  @Get(':id/credits')
  @Requires()
  @Heavy()
  @ApiProblems.query('not_found')
  listWalletCredits(
    @MerchantId() merchantId: string,
    @IdParam('The wallet') id: string,
    @Query() query: ListWalletCreditsDto,
  ): Promise<CreditPageDto> {
    return this.reads.page(merchantId, { ...query, walletId: id }, CREDITS_OF_WALLET);
  }

  /**
   * Read a wallet's statement
   *
   * @remarks Returns the wallet's ledger entries with kind, amount, order and running balance, newest first. With
   * `by=change`, all credits of one change are one line.
   */
  @Get(':id/entries')
  @Requires()
  @Heavy()
  @ApiProblems.query('not_found')
  listWalletEntries(
    @MerchantId() merchantId: string,
    @IdParam('The wallet') id: string,
    @Query() query: ListEntriesDto,
  ): Promise<EntryPageDto> {
    return this.reads.page(merchantId, { ...query, walletId: id }, ENTRIES);
  }

  /**
   * Read what will expire of a wallet
   *
   * @remarks Returns the customer's cashback that expires in this month and the following ones if nobody spends it, by
   * the rules of `GET /reports/expiring`.
   */
  @Get(':id/expiring')
  @Requires()
  @Heavy()
  @ApiProblems.query('not_found')
  getWalletExpiring(
    @MerchantId() merchantId: string,
    @IdParam('The wallet') id: string,
    @Query() { months }: WalletExpiringQueryDto,
  ): Promise<ExpiringReportDto> {
    return this.wallets.expiring(merchantId, id, months);
  }

  /**
   * Freeze or unfreeze a wallet
   *
   * @remarks Of a frozen wallet, orders redeem what they hold already, and nothing more: `limited_by` is `frozen`. It
   * still earns and is granted cashback, and can be debited. What the wallet is already changes nothing.
   */
  @Put(':id/freeze')
  @Requires('customers')
  @LocksRows()
  @ApiReplays()
  @ApiProblems.read('validation_failed')
  async freezeWallet(
    @CurrentCaller() caller: Caller,
    @IdParam('The wallet') id: string,
    @Body() body: FreezeWalletDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<WalletDto> {
    return answer(response, await this.freezes.set(caller, id, body));
  }
}
