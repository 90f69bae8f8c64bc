import BenchmarkKit
import PeerLMDB
import PeerRocksDB
import PeerSQLite

/// The engines that are compared.
enum EngineKind: String, CaseIterable {
    case backstitch
    case lmdb = "lmdb-c"
    case sqlite = "sqlite-c"
    case sqliteTuned = "sqlite-c-tuned"
    case rocksdb = "rocksdb-c"

    /// Makes a new store in an empty folder.
    func open(_ directory: String, _ contacts: ContactSet) throws -> any Engine {
        switch self {
        case .backstitch: try BackstitchEngine(directory, contacts)
        case .lmdb: try PeerEngine(peer_lmdb(), directory, contacts.data)
        case .sqlite: try PeerEngine(peer_sqlite(), directory, contacts.data)
        case .sqliteTuned: try PeerEngine(peer_sqlite_tuned(), directory, contacts.data)
        case .rocksdb: try PeerEngine(peer_rocksdb(), directory, contacts.data)
        }
    }

    /// What is done before a commit returns.
    var durability: String {
        switch self {
        case .backstitch:
            "durability full: one O_DSYNC write to its journal, or two fdatasync of one LMDB file"
        case .lmdb: "LMDB's default: two fdatasync of one file"
        case .sqlite: "WAL, synchronous=FULL: one fdatasync of the WAL"
        case .sqliteTuned: "the same; 64 MB cache, 1 GB of the file mapped"
        case .rocksdb: "WriteOptions.sync: one fdatasync of the WAL"
        }
    }
}
