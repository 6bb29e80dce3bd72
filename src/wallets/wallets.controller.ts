import { Body, Controller, Get, HttpCode, Post, Query, UseInterceptors } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import type { Caller } from '../common/caller.js';
import { CurrentCaller } from '../http/caller.js';
import { EntryPageDto, SearchWalletDto, WalletDto } from './dto/wallet.dto.js';
import { StatementsService } from './statements.service.js';
import { ApiProblems } from '../http/api-problems.js';
import { FairList } from '../http/fair-list.interceptor.js';
import { ApiIdParam, IdParam } from '../http/id-param.js';
import { PageQueryDto } from '../http/page-query.dto.js';
import { REQUESTS } from '../rate-limits/policies.js';
import { RateLimit } from '../rate-limits/rate-limit.guard.js';

@ApiTags('wallets')
@ApiBearerAuth()
@Controller('wallets')
@RateLimit(REQUESTS)
export class WalletsController {
  constructor(private readonly statements: StatementsService) {}

  /**
   * Find a customer's wallet
   *
   * @remarks Returns the customer's cashback with this merchant. For an unknown customer, all amounts are zero.
   */
  @Post('search')
  @HttpCode(200)
  @ApiProblems.query()
  searchWallet(@CurrentCaller() caller: Caller, @Body() body: SearchWalletDto): Promise<WalletDto> {
    return this.statements.search(caller.merchantId, body.document);
  }

  /**
   * Read a wallet
   *
   * @remarks Returns the customer's balance in its current state, like the search by document.
   */
  @Get(':id')
  @ApiIdParam('The wallet')
  @ApiProblems.read()
  getWallet(@CurrentCaller() caller: Caller, @IdParam() id: string): Promise<WalletDto> {
    return this.statements.get(caller.merchantId, id);
  }

  /**
   * Read a wallet's statement
   *
   * @remarks Returns the wallet's ledger entries with kind, amount, order and running balance, newest first.
   */
  @Get(':id/entries')
  @UseInterceptors(FairList)
  @ApiIdParam('The wallet')
  @ApiProblems.query('not_found')
  listWalletEntries(
    @CurrentCaller() caller: Caller,
    @IdParam() id: string,
    @Query() query: PageQueryDto,
  ): Promise<EntryPageDto> {
    return this.statements.entries(caller.merchantId, id, query);
  }
}
