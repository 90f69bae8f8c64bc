import Backstitch
import Foundation
import LMDB

/// What the program says when something failed.
enum Failure {
    static func describe(_ error: any Error) -> String {
        if error is CancellationError { return "It was ended before it was done." }
        switch error {
        case let error as StoreError:
            guard let advice = advice(for: error.code) else { return error.message }
            return error.message + "\n" + advice
        case let error as LMDBError: return error.message
        case let error as CocoaError: return error.localizedDescription
        default: return "\(error)"
        }
    }

    /// What the message of the store can't know, because only the program has it.
    private static func advice(for code: StoreError.Code) -> String? {
        switch code {
        case .newerFormat: "This is \(About.name) \(About.version). Nothing was changed."
        default: nil
        }
    }
}
