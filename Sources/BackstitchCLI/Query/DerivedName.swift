import Backstitch
import BackstitchCore
import Foundation

/// The name of what a query derives from an attribute, as `RecordQuery` has it.
struct DerivedName {
    let text: String
    let type: AttributeType

    /// Nil if nothing of that kind can be derived from values of the type, or for an unknown time zone.
    ///
    /// - Parameters:
    ///   - path: Names with dots between them; the last one is the attribute.
    ///   - zone: The name of a time zone; nil for UTC.
    init?(_ function: String, _ path: String, _ type: AttributeType, zone: String?) {
        guard type == (function == "fold" ? .string : .date), !path.hasSuffix(")") else {
            return nil
        }
        if let zone, TimeZone(identifier: zone) == nil { return nil }
        let names = path.split(separator: ".", omittingEmptySubsequences: false)
        let inner = names.last.map(String.init) ?? path
        let derived = "\(function)(\(inner)\(zone.map { ", \($0)" } ?? ""))"
        text = (names.dropLast().map(String.init) + [derived]).joined(separator: ".")
        self.type = type
    }
}
