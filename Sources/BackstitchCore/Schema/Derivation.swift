/// What a query makes of an attribute's value before it compares, sorts or groups by it.
///
/// By names it is written around the attribute: `fold(name)`, `month(created)`,
/// `day(created, Europe/Berlin)`. A derived attribute is then one as any other: it has conditions,
/// sorts, groups and, if the schema declares one, an index.
package enum Derivation: Hashable, Sendable {
    /// Text without case and accents.
    case folded
    /// The beginning of the day, week, month or year of a date.
    case period(CalendarPeriod)

    /// The derivation that the words before and after an attribute's name stand for; nil for other words.
    init?(_ function: Substring, arguments: [Substring]) {
        if function == "fold", arguments.isEmpty {
            self = .folded
        } else if let period = CalendarPeriod(function, arguments: arguments) {
            self = .period(period)
        } else {
            return nil
        }
    }

    /// The name of an attribute's derived one.
    func name(of attribute: String) -> String {
        switch self {
        case .folded: "fold(\(attribute))"
        case .period(let period): period.name(of: attribute)
        }
    }

    /// The type of what is derived from values of a type; nil if nothing is.
    func type(of type: AttributeType) -> AttributeType? {
        switch self {
        case .folded: type == .string || type == .url ? .string : nil
        case .period: type == .date ? .date : nil
        }
    }

    /// What a value becomes; null stays null.
    func apply(_ value: RecordValue) -> RecordValue {
        switch (self, value) {
        case (.folded, .string(let text)): .string(TextFolding.fold(text))
        case (.period(let period), .date(let milliseconds)):
            .date(milliseconds: period.start(milliseconds))
        default: value
        }
    }
}

extension AttributeBinding {
    /// The attribute that a query by a derivation of this one means.
    ///
    /// - Throws: ``QueryError`` if nothing can be derived from its type.
    func derived(
        _ derivation: Derivation, in entity: EntityBinding
    ) throws(QueryError) -> AttributeBinding {
        guard let type = derivation.type(of: type), self.derivation == nil else {
            throw QueryError(
                .typeMismatch,
                "A query of \(entity.name) asks for \(derivation.name(of: name)), and \(name) is a "
                    + "\(self.type). Only texts are folded, and only dates have days, weeks, months "
                    + "and years.")
        }
        return AttributeBinding(self, derivation, type: type)
    }
}

extension EntityBinding {
    /// The derived attribute of a name such as `fold(name)`; nil if the name is not of that kind.
    func derivedAttribute(named name: String) throws(QueryError) -> AttributeBinding? {
        guard name.last == ")", let start = name.firstIndex(of: "(") else { return nil }
        let inside = name[name.index(after: start)...].dropLast()
        let parts = inside.split(separator: ",", omittingEmptySubsequences: false)
            .map { $0.trimmingPrefix { $0 == " " } }
        guard let first = parts.first,
            let derivation = Derivation(name[..<start], arguments: Array(parts.dropFirst()))
        else { return nil }
        return try attribute(named: String(first)).derived(derivation, in: self)
    }
}
