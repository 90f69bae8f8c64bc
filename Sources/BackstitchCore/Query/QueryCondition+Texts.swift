public import Foundation

/// Tests of texts with or without case and accents.
extension QueryConditions {
    /// Keeps records whose text equals another, or is nil if the other is nil.
    public func `where`<Text: _TextAttributeValue>(
        _ keyPath: any KeyPath<Model, Text> & Sendable, is text: Text,
        comparing comparison: TextComparison
    ) -> Self {
        let value = text._recordValue
        return self.where(
            QueryCondition(keyPath, equals: value, comparing: comparison) {
                let name = try Query<Model>.storedAttribute(at: keyPath)
                return .comparison(
                    .attribute(comparison.name(of: name)), .equal, .constant(value))
            })
    }

    /// Keeps records whose text differs from another, or is not nil if the other is nil.
    public func `where`<Text: _TextAttributeValue>(
        _ keyPath: any KeyPath<Model, Text> & Sendable, isNot text: Text,
        comparing comparison: TextComparison
    ) -> Self {
        tested(keyPath, comparison) { .comparison($0, .notEqual, .constant(text._recordValue)) }
    }

    /// Keeps records whose text equals one of several, which may include nil.
    public func `where`<Text: _TextAttributeValue>(
        _ keyPath: any KeyPath<Model, Text> & Sendable, in texts: [Text],
        comparing comparison: TextComparison
    ) -> Self {
        tested(keyPath, comparison) { .membership($0, texts.map(\._recordValue)) }
    }

    /// Keeps records whose text is not nil and contains another, compared by characters.
    public func `where`<Text: _TextAttributeValue>(
        _ keyPath: any KeyPath<Model, Text> & Sendable, contains text: String,
        comparing comparison: TextComparison
    ) -> Self {
        tested(keyPath, comparison) { .contains($0, .constant(.string(text))) }
    }

    /// Keeps records whose text is not nil and starts with another, compared by characters.
    public func `where`<Text: _TextAttributeValue>(
        _ keyPath: any KeyPath<Model, Text> & Sendable, startsWith text: String,
        comparing comparison: TextComparison
    ) -> Self {
        tested(keyPath, comparison) { .prefix($0, .constant(.string(text))) }
    }

    private func tested(
        _ keyPath: any PartialKeyPath<Model> & Sendable, _ comparison: TextComparison,
        _ test: @escaping @Sendable (Operand) throws -> Condition
    ) -> Self {
        self.where(
            QueryCondition {
                let name = try Query<Model>.storedAttribute(at: keyPath)
                return try test(.attribute(comparison.name(of: name)))
            })
    }
}

extension Query {
    /// The query with its answer sorted by a text, with or without case and accents, after what it is sorted by
    /// already.
    ///
    /// Texts that are the same but for case and accents are in the order of what is sorted by next, or of their
    /// record keys.
    public func sorted<Text: _TextAttributeValue>(
        by keyPath: any KeyPath<Model, Text> & Sendable, comparing comparison: TextComparison,
        order: SortOrder = .forward
    ) -> Query {
        sorted(order) { comparison.name(of: try Self.storedAttribute(at: keyPath)) }
    }
}
