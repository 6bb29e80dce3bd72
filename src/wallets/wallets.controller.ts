import { Body, Get, HttpCode, Post, Query } from '@nestjs/common';
import { Requires } from '../auth/caller.guard.js';
import { MerchantController } from '../auth/merchant-controller.js';
import { IdParam, MerchantId } from '../http/decorators.js';
import { CreditPageDto } from './dto/credit.dto.js';
import { ExpiringReportDto, WalletExpiringQueryDto } from './dto/expiring.dto.js';
import { EntryPageDto, SearchWalletDto, WalletDto } from './dto/wallet.dto.js';
import { WalletReadsService } from './wallet-reads.service.js';
import { ApiProblems } from '../openapi/decorators.js';
import { Heavy } from '../http/admission.js';
import { PageQueryDto } from '../http/page-query.dto.js';

@MerchantController('wallets', 'wallets')
@Requires()
export class WalletsController {
  constructor(private readonly reads: WalletReadsService) {}

  /**
   * Find a customer's wallet
   *
   * @remarks Returns the customer's cashback with this merchant. For an unknown customer, all amounts are zero.
   */
  @Post('search')
  @HttpCode(200)
  @ApiProblems.query()
  searchWallet(@MerchantId() merchantId: string, @Body() body: SearchWalletDto): Promise<WalletDto> {
    return this.reads.search(merchantId, body.document);
  }

  /**
   * Read a wallet
   *
   * @remarks Returns the customer's balance in its current state, like the search by document.
   */
  @Get(':id')
  @ApiProblems.read()
  getWallet(@MerchantId() merchantId: string, @IdParam('The wallet') id: string): Promise<WalletDto> {
    return this.reads.get(merchantId, id);
  }

  /**
   * List a wallet's open credits
   *
   * @remarks Returns the credits of which something remains that is not held, earliest expiry first, pending ones
   * included: how much expires when, and where it came from. What remains of all of them, less what is held, is the
   * available and the pending balance.
   */
  @Get(':id/credits')
  @Heavy()
  @ApiProblems.query('not_found')
  listWalletCredits(
    @MerchantId() merchantId: string,
    @IdParam('The wallet') id: string,
    @Query() query: PageQueryDto,
  ): Promise<CreditPageDto> {
    return this.reads.credits(merchantId, id, query);
  }

  /**
   * Read what will expire of a wallet
   *
   * @remarks Returns the customer's cashback that expires in this month and the following ones if nobody spends it, by
   * the rules of `GET /reports/expiring`.
   */
  @Get(':id/expiring')
  @Heavy()
  @ApiProblems.query('not_found')
  getWalletExpiring(
    @MerchantId() merchantId: string,
    @IdParam('The wallet') id: string,
    @Query() { months }: WalletExpiringQueryDto,
  ): Promise<ExpiringReportDto> {
    return this.reads.expiring(merchantId, id, months);
  }

  /**
   * Read a wallet's statement
   *
   * @remarks Returns the wallet's ledger entries with kind, amount, order and running balance, newest first.
   */
  @Get(':id/entries')
  @Heavy()
  @ApiProblems.query('not_found')
  listWalletEntries(
    @MerchantId() merchantId: string,
    @IdParam('The wallet') id: string,
    @Query() query: PageQueryDto,
  ): Promise<EntryPageDto> {
    return this.reads.entries(merchantId, id, query);
  }
}
