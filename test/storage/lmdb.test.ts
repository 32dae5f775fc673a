import { openLmdbEngine } from '../../src/storage/lmdb/open.ts';
import { testEngineContract } from '../contracts/engine.ts';
import { newDataFolder } from '../support/service.ts';

testEngineContract('LMDB', { open: async (store) => openLmdbEngine(store), newStore: newDataFolder });
